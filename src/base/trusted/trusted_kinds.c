/* trusted_kinds.c - the table of trusted_names.h. A kind is added by adding a row. */
#include "base/attr.h"
#include "base/trusted/trusted_names.h"

/* clang-format off */
const struct trusted_kind trusted_kinds[] = {
	{ "git-hooks",
		".git/hooks",
		.reason = "git runs the programs in it, for example before a commit" },
	{ "git-modules",
		".git/modules .git/worktrees",
		.reason = "git runs hooks and reads settings there, for submodules and worktrees" },
	{ "git-alternates",
		".git/objects/info/*alternates",
		.reason = "it leads git to objects of another directory" },
	/* All files of a repository except its data, because later versions of git may add
	 * settings. config and info/attributes name programs, commondir leads to another
	 * repository, and the steps of a rebase can be commands. */
	{ "git-settings",
		".git/*",
		.except = ".git/head .git/index .git/refs .git/reftable .git/objects .git/logs "
			".git/packed-refs .git/orig_head .git/fetch_head .git/merge_head "
			".git/merge_msg .git/merge_mode .git/squash_msg .git/commit_editmsg "
			".git/cherry_pick_head .git/revert_head .git/auto_merge .git/description "
			".git/shallow .git/hooks .git/modules .git/worktrees",
		.reason = "git reads settings in it, which can name programs that git runs" },
	{ "git-link",
		".git",
		.only_files = true,
		.reason = "it leads git to another repository, with hooks and settings" },
	/* git takes every directory with HEAD, objects and refs for a repository. */
	{ "git-bare",
		"*/head",
		.except = ".git/head",
		.only_files = true,
		.reason = "git takes the directory for a repository, with hooks and settings" },
	{ "git-submodules",
		".gitmodules .lfsconfig",
		.reason = "git fetches from the addresses in it" },
	{ "git-attributes",
		".gitattributes",
		.reason = "it chooses filter, diff and merge programs that git runs" },
	{ "git-user",
		".gitconfig .config/git .git-credentials .git-templates",
		.reason = "git reads settings and passwords in it for every repository" },
	{ "git-hook-tools",
		".husky .githooks .git-hooks .pre-commit-config.yaml lefthook.* .lefthook.* "
		"lefthook-local.* .lefthook-local.* .overcommit.yml .lintstagedrc* "
		".simple-git-hooks.*",
		.reason = "hooks that are installed already run the programs in it" },
	{ "repositories",
		".hg/hgrc* .hg/sharedpath .hgrc .config/hg .sl/config .sl/sharedpath "
		".jj/repo .config/jj .jjconfig.toml .bzr/branch .subversion _darcs/prefs "
		".pijul cvs/root .repo .p4config p4config.txt .p4enviro",
		.reason = "version control programs read settings in it, which can name programs" },
	{ "shell-start",
		".bashrc .bash_profile .bash* .profile .zshrc .zshenv .zsh* .zprofile "
		".zlogin .zlogout .zcompdump* .zfunc .config/fish .config/nushell "
		".config/powershell .config/xonsh "
		".zprezto* .zimrc .zim .zinit .zplug .antigen .oh-my-zsh .p10k.zsh .fzf* "
		".kshrc .mkshrc .shrc .shinit .cshrc .tcshrc .login .logout .xonshrc "
		".aliases .functions .exports .cargo/env* .inputrc .lessfilter "
		".selected_editor",
		.reason = "shells run its commands when they start or end" },
	{ "autostart",
		".config/autostart .config/systemd .local/share/systemd "
		".config/environment.d .local/share/applications .local/share/dbus-1 "
		".local/share/kservices5 .config/plasma-workspace .config/upstart "
		".pam_environment .xinitrc .xsession .xsessionrc .xprofile .xserverrc "
		".xresources .xdefaults .xbindkeysrc .gnomerc .vnc .i3 .fluxbox .icewm "
		".fvwm .xmonad .config/i3 .config/sway .config/hypr .config/openbox "
		".config/awesome .mailcap .config/mimeapps.list .local/share/nautilus "
		".config/user-tmpfiles.d",
		.reason = "the desktop or the system starts the programs in it" },
	{ "cron",
		"spool/cron crontabs cron.d cron.hourly cron.daily cron.weekly cron.monthly",
		.reason = "cron runs its commands" },
	{ "programs",
		".local/bin .local/lib .cargo/bin .rustup .npm-global .nix-profile .nvm "
		".pyenv .rbenv .nodenv .goenv .jenv .rvm .sdkman .asdf .volta .deno/bin "
		".bun/bin .ghcup .dotnet/tools .krew .venv/bin venv/bin pyvenv.cfg",
		.reason = "shells find programs there by their names" },
	{ "ssh",
		".ssh .rhosts .shosts",
		.reason = "ssh takes keys, hosts and commands from it" },
	{ "gpg",
		".gnupg",
		.reason = "gpg takes keys and the programs it runs from it" },
	{ "logins",
		".netrc _netrc .pypirc .pgpass .my.cnf .mylogin.cnf .k5login .xauthority "
		".vault-token .dockercfg .s3cfg .boto .odbc.ini",
		.reason = "programs take passwords from it, or send theirs where it says" },
	{ "cloud",
		".aws .azure .config/gcloud .kube .docker/config.json .docker/cli-plugins "
		".docker/contexts .config/containers .config/gh .oci .terraform.d "
		".terraformrc .terraform ansible.cfg .ansible.cfg .ansible",
		.reason = "programs take their server, keys and helper programs from it" },
	{ "mail",
		".forward .procmailrc .mailfilter .maildroprc .qmail* .muttrc .mailrc "
		".fetchmailrc .msmtprc",
		.reason = "mail programs run the programs in it" },
	{ "editor-folders",
		".vscode *.code-workspace .vscode-server .vscode-oss .idea .fleet .zed .vs "
		"*.sublime-project .kateproject .luarc.json hie.yaml rust-analyzer.toml "
		".rust-analyzer.toml .ycm_extra_conf.py .latexmkrc latexmkrc "
		".helix .externaltoolbuilders .config/code .config/zed .config/vscodium "
		".config/jetbrains",
		.reason = "editors run tasks, tools and language servers that it names" },
	{ "devcontainer",
		".devcontainer .devcontainer.json",
		.reason = "editors start a container and commands of the host from it" },
	{ "editor-start",
		".vimrc .gvimrc _vimrc .exrc .nvimrc .nvim.lua .lvimrc .vim .config/nvim "
		".vimrc.local .local.vimrc .config/vim .emacs .emacs.d .config/emacs "
		".dir-locals.el .dir-locals-2.el .nanorc .config/nano .config/helix .config/kak "
		".sublime-text*",
		.reason = "editors run its commands when they start or open a file beside it" },
	{ "agents",
		".mcp.json .claude .claude.json .config/claude claude_desktop_config.json "
		".cursor .gemini .codex .continue .windsurf .codeium .roo .roomodes .cline "
		".kiro .amazonq .junie .trae .qwen .factory .augment .goose .config/goose "
		".opencode opencode.json* .config/opencode .crush.json crush.json "
		".aider.conf* .aider.model* .agents .agent .kilocode .openhands .copilot "
		".github/hooks mcp_config.json mcp_settings.json",
		.except = ".claude/worktrees .cursor/worktrees .codex/worktrees",
		.reason = "coding agents start servers, hooks and commands that it names" },
	/* Only text, but an agent obeys it with the rights of the person who starts it. */
	{ "agent-notes",
		"agents.md agents.override.md claude.md claude.local.md gemini.md .cursorrules "
		".windsurfrules .clinerules .goosehints .github/copilot-instructions.md "
		".github/instructions .github/prompts .github/agents .github/skills",
		.reason = "coding agents follow the instructions in it" },
	{ "environments",
		".envrc .direnv .direnvrc .config/direnv .autoenv* .tool-versions .asdfrc "
		".rvmrc "
		".mise.toml .mise.*.toml mise.toml mise.*.toml .mise .config/mise .rtx.toml "
		"rust-toolchain rust-toolchain.toml",
		.reason = "shells and tools choose programs and variables by it" },
	{ "node",
		".npmrc .pnpmrc .yarnrc* .yarn/releases .yarn/plugins .yarn/sdks "
		".pnpmfile.* .pnp.* bunfig.toml .bunfig.toml",
		.reason = "npm, yarn, pnpm and bun take addresses, scripts and plugins from it" },
	{ "python",
		"pip.conf pip.ini .pip .config/pip .pydistutils.cfg sitecustomize.py "
		"usercustomize.py site-packages/*.pth dist-packages/*.pth uv.toml "
		".config/uv .condarc .config/pypoetry jupyter_*config.py "
		"jupyter_*config.json",
		.reason = "python runs it at its start, or pip installs from where it says" },
	{ "build-tools",
		".cargo/config .cargo/config.toml .cargo/credentials* .bazelrc .buckconfig "
		".mvn .m2 .gradle/init.d .gradle/init.gradle* .gradle/gradle.properties "
		".sbtopts .jvmopts .bundle .gemrc .composer .config/composer nuget.config "
		".nuget .config/go .config/nix .config/nixpkgs .cabal .stack .opam "
		".lein .clojure .sbt .ivy2 .rpmmacros .makepkg.conf .devscripts .quiltrc "
		".pbuilderrc .sbuildrc .gbp.conf",
		.reason = "build tools take programs, plugins and addresses from it" },
	{ "interpreters",
		".rprofile .renviron .irbrc .pryrc .ghci .octaverc .iex.exs .erlang .perldb "
		".pdbrc .pythonrc* .pythonstartup .sqliterc .psqlrc .julia/config .guile "
		".sbclrc .ipython .jupyter .rdata .ocamlinit .utoprc .psysh.php .proverc "
		".byebugrc .rdbgrc .gnuplot .tclshrc .wishrc .mongorc.js .mongoshrc.js "
		".duckdbrc startup.m",
		.reason = "interpreters run its commands when they start" },
	{ "debuggers",
		".gdbinit .gdbearlyinit .lldbinit .radare2rc .config/gdb",
		.reason = "debuggers run its commands when they start" },
	{ "commands",
		".curlrc _curlrc .wgetrc .ripgreprc .ackrc .screenrc .tmux.conf "
		".config/tmux .tigrc .config/lazygit .ctags .ctags.d .wezterm.lua .hyper.js",
		.reason = "commands take options from it, which can name programs and files" },
	{ "belljar",
		".config/belljar belljar/belljar.json",
		.reason = "belljar itself takes its settings from it" },
	/* The settings in a home directory that no row above names. The exceptions are settings
	 * of a project, whose programs a user runs on purpose. */
	{ "user-settings",
		".config .local/share",
		.except = ".config/nextest.toml .config/hakari.toml .config/dotnet-tools.json",
		.reason = "terminals, shells and the desktop take programs to run from it" },
	{ "system",
		"/etc /boot /bin /sbin /lib /lib32 /lib64 /libx32 /usr/*bin /usr/lib* "
		"/usr/local/*bin /usr/local/lib* /var/spool",
		.reason = "the system runs and trusts the files there" },
};
/* clang-format on */

const size_t trusted_kind_count = ARRAY_LEN(trusted_kinds);
_Static_assert(ARRAY_LEN(trusted_kinds) <= TRUSTED_KINDS_MAX, "a set has a bit for each kind");
