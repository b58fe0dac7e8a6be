/* option_specs.c - the table of all options (see options.h). */
#include <string.h>

#include "server/options/option_accepts.h"
#include "server/options/option_words.h"
#include "server/options/options.h"
#include "tools/profiles/profiles.h"

enum { KIB = 1024, MIB = 1024 * KIB, GIB = 1024 * MIB };

/* Every verb that starts sandboxes. */
enum { SANDBOXES = FOR_SERVE | FOR_EXEC | FOR_RUN | FOR_SHELL | FOR_CP | FOR_PORT };

/* The limits of a sandbox have one source, SPEC_LIMITS: its numbers as constants, by name. */
enum {
#define X(name, initial, min, max, ...)                                                            \
	LIMIT_INITIAL_##name = (initial), LIMIT_MIN_##name = (min), LIMIT_MAX_##name = (max),
	SPEC_LIMITS(X)
#undef X
};

#define FLAG(field)   .type = OPTION_TYPE_FLAG, .offset = offsetof(struct options, field)
#define TEXT(field)   .type = OPTION_TYPE_TEXT, .offset = offsetof(struct options, field)
#define PATH(field)   .type = OPTION_TYPE_PATH, .offset = offsetof(struct options, field)
#define CHOICE(field) .type = OPTION_TYPE_CHOICE, .offset = offsetof(struct options, field)
#define NUMBER(field) .type = OPTION_TYPE_NUMBER, .offset = offsetof(struct options, field)
#define SIZE(field)   .type = OPTION_TYPE_SIZE, .offset = offsetof(struct options, field)

#define RANGE(initial_, min_, max_) .initial = (initial_), .min = (min_), .max = (max_)
/* A setting of the server: from a flag, the environment or the file. */
#define SETTING .verbs = FOR_SERVE, .in_file = true

/* clang-format off */
/* Two options for each limit of a sandbox: the default, and the most that a caller may ask for. */
#define LIMIT(ID, name_, TYPE, field, word_, help_)                                                \
	[OPTION_##ID] = { name_, TYPE(limits.field), .verbs = SANDBOXES, .in_file = true,          \
		RANGE(LIMIT_INITIAL_##field, LIMIT_MIN_##field, LIMIT_MAX_##field),                \
		.word = word_, .help = help_ },                                                    \
	[OPTION_##ID##_MAX] = { name_ "-max", TYPE(limits_max.field), SETTING, .word = word_,      \
		RANGE(0, LIMIT_MIN_##field, LIMIT_MAX_##field),                                    \
		.computed = "--" name_ " if that is given, else a share of this machine",          \
		.help = "The most that a client may ask for instead of --" name_ "." }

const struct option_spec option_specs[OPTION_COUNT] = {
	[OPTION_CONFIG] = { "config", PATH(config), .verbs = SANDBOXES | FOR_DOCTOR, .word = "FILE",
		.help = "The configuration file to read instead of the usual one." },
	[OPTION_LOG_LEVEL] = { "log-level", CHOICE(log_level), .in_file = true,
		.verbs = SANDBOXES | FOR_PS | FOR_RM | FOR_LOGS,
		.word = "LEVEL", .initial_text = "warning", .choices = log_levels,
		.help = "How much to log on standard error." },
	[OPTION_MAX_LINE] = { "max-line", SIZE(max_line), SETTING, .word = "SIZE",
		RANGE(10 * MIB, KIB, 64 * MIB),
		.help = "Longest message a client may send, in bytes." },
	[OPTION_MAX_DEPTH] = { "max-depth", NUMBER(max_depth), SETTING, .word = "N",
		RANGE(64, 8, 512),
		.help = "Deepest nesting of arrays and objects in a message." },
	[OPTION_MAX_VALUES] = { "max-values", NUMBER(max_values), SETTING, .word = "N",
		RANGE(200000, 1000, 10000000),
		.help = "Most JSON values in a message." },
	[OPTION_MAX_BATCH] = { "max-batch", NUMBER(max_batch), SETTING, .word = "N",
		RANGE(100, 1, 1000),
		.help = "Most messages in a batch." },
	[OPTION_MAX_CALLS] = { "max-calls", NUMBER(max_calls), SETTING, .word = "N",
		RANGE(256, 1, 10000),
		.help = "Most calls in progress per client." },
	[OPTION_MAX_HELD] = { "max-held", SIZE(max_held), SETTING, .word = "SIZE",
		RANGE(64 * MIB, MIB, GIB),
		.help = "Most bytes of messages whose calls are in progress, per client." },
	[OPTION_MAX_SUBSCRIPTIONS] = { "max-subscriptions", NUMBER(max_subscriptions), SETTING,
		.word = "N", RANGE(1000, 1, 100000),
		.help = "Most resource subscriptions and open listen streams per client." },
	[OPTION_MAX_QUEUE] = { "max-queue", SIZE(max_queue), SETTING, .word = "SIZE",
		RANGE(64 * MIB, MIB, GIB),
		.help = "Most bytes queued for a client that does not read." },
	[OPTION_PAGE_SIZE] = { "page-size", NUMBER(page_size), SETTING, .word = "N",
		RANGE(100, 1, 1000),
		.help = "Entries per page of a list." },
	[OPTION_GRACE] = { "grace", NUMBER(grace_ms), SETTING, .word = "MS",
		RANGE(2000, 0, 60000),
		.help = "Milliseconds that running calls get when the client disconnects or the "
			"server shuts down: half of it to end by themselves, the rest to stop." },
	[OPTION_HTTP] = { "http", TEXT(http), SETTING, .word = "ADDR,...", .accepts = opt_not_empty,
		.expected = "addresses with , between",
		.help = "Serve MCP over HTTP on these addresses, instead of standard input and "
			"output: 127.0.0.1:8000, [::1]:8000, :8000 for every address of this "
			"machine, or unix:/PATH." },
	[OPTION_STDIO] = { "stdio", FLAG(stdio), SETTING,
		.help = "Serve a client on standard input and output too, beside HTTP. The server "
			"shuts down when that client disconnects." },
	[OPTION_SSE] = { "sse", FLAG(sse), SETTING, .also_variable = "MCP_SSE_MODE",
		.help = "Serve MCP over HTTP on --host and --port. Every HTTP address has the "
			"older transport with server-sent events at /sse, beside /mcp." },
	[OPTION_HOST] = { "host", TEXT(host), SETTING, .word = "HOST", .initial_text = "127.0.0.1",
		.accepts = opt_not_empty, .expected = "an address",
		.help = "The address for --sse; giving it implies --sse." },
	[OPTION_PORT] = { "port", NUMBER(port), SETTING, .word = "PORT", RANGE(8000, 0, 65535),
		.help = "The port for --sse, 0 for any free one; giving it implies --sse." },
	[OPTION_AUTH] = { "auth", CHOICE(auth), SETTING, .word = "HOW", .initial_text = "none",
		.choices = auth_choices,
		.help = "Who may call over HTTP: with none everybody who reaches the address, "
			"which must be this machine's own; with token whoever has a token of "
			"'belljar token add', and only for the sandboxes of the token's user." },
	[OPTION_TOKEN_FILE] = { "token-file", PATH(token_file), .verbs = FOR_SERVE | FOR_TOKEN,
		.in_file = true, .word = "FILE",
		.help = "The file with the hashes of tokens, instead of the usual one: "
			"/etc/belljar/tokens for root, else ~/.config/belljar/tokens." },
	[OPTION_ALLOW_UNAUTHENTICATED] = { "allow-unauthenticated-network",
		FLAG(allow_unauthenticated), .verbs = FOR_SERVE, .flag_only = true,
		.help = "Serve with --auth none although other machines reach the address: "
			"everybody there can run code in your sandboxes and read their files." },
	[OPTION_TLS_CERT] = { "tls-cert", PATH(tls_cert), SETTING, .word = "FILE",
		.help = "The certificate for HTTPS, followed by those of its issuers (PEM). A new "
			"file is used at once." },
	[OPTION_TLS_KEY] = { "tls-key", PATH(tls_key), SETTING, .word = "FILE",
		.help = "The private key of --tls-cert (PEM, not encrypted)." },
	[OPTION_ALLOW_HOST] = { "allow-host", TEXT(allow_host), SETTING, .word = "HOST,...",
		.accepts = opt_not_empty, .expected = "host names with , between",
		.help = "More names under which clients may reach the server (the header Host), "
			"besides localhost and addresses." },
	[OPTION_ALLOW_ORIGIN] = { "allow-origin", TEXT(allow_origin), SETTING,
		.word = "ORIGIN,...", .accepts = opt_not_empty,
		.expected = "origins such as https://example.org with , between",
		.help = "Web pages that may use the server from a browser (the header Origin), "
			"such as https://example.org." },
	[OPTION_ACCESS_LOG] = { "access-log", FLAG(access_log), SETTING,
		.help = "Log each HTTP request on standard error, one line each." },
	[OPTION_MAX_CONNECTIONS] = { "max-connections", NUMBER(max_connections), SETTING,
		.word = "N", RANGE(8192, 1, 1000000),
		.help = "Most HTTP connections at a time; further ones wait." },
	[OPTION_MAX_SESSIONS] = { "max-sessions", NUMBER(max_sessions), SETTING, .word = "N",
		RANGE(10000, 1, 1000000),
		.help = "Most MCP sessions over HTTP at a time." },
	[OPTION_SESSION_IDLE] = { "session-idle", NUMBER(session_idle_s), SETTING,
		.word = "SECONDS", RANGE(3600, 1, 31536000),
		.help = "Seconds without a request and without an open stream after which an MCP "
			"session over HTTP ends." },
	[OPTION_HTTP_TIMEOUT] = { "http-timeout", NUMBER(http_timeout_s), SETTING,
		.word = "SECONDS", RANGE(30, 1, 3600),
		.help = "Seconds that an HTTP client has to send a request, and to read when its "
			"connection is full." },
	[OPTION_HTTP_IDLE] = { "http-idle", NUMBER(http_idle_s), SETTING, .word = "SECONDS",
		RANGE(75, 1, 3600),
		.help = "Seconds after which an HTTP connection without a request is closed." },
	[OPTION_PUBLIC_URL] = { "public-url", TEXT(public_url), SETTING, .word = "URL",
		.accepts = opt_not_empty, .expected = "a URL",
		.help = "How clients reach this server over HTTP, for the links of expose_port; "
			"without it, its first address." },
	[OPTION_STATE_DIR] = { "state-dir", PATH(state_dir), .in_file = true, .word = "DIR",
		.verbs = SANDBOXES | FOR_PS | FOR_RM | FOR_LOGS | FOR_DOCTOR | FOR_CACHE,
		.help = "The directory that holds sandboxes and their database, instead of the "
			"usual one." },
	[OPTION_TOOLS_DIR] = { "tools-dir", PATH(tools_dir), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR", .help = "A directory that sandboxes see read-only as /tools." },
	[OPTION_SKILLS_DIR] = { "skills-dir", PATH(skills_dir), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR", .help = "A directory that sandboxes see read-only as /skills." },
	[OPTION_MOUNTS] = { "mounts", TEXT(mounts), .verbs = SANDBOXES, .in_file = true,
		.word = "SOURCE:TARGET,...", .accepts = opt_not_empty, .expected = "a list",
		.help = "More directories that sandboxes see read-only: SOURCE on this machine, "
			"TARGET inside." },
	LIMIT(MEMORY, "memory", SIZE, memory, "SIZE",
		"Most memory that all processes of a sandbox use together."),
	LIMIT(SWAP, "swap", SIZE, swap, "SIZE",
		"Most swap space a sandbox uses in addition to its memory."),
	LIMIT(CPU, "cpu", NUMBER, cpu, "N",
		"Processors that a sandbox may keep busy, in thousandths."),
	LIMIT(PIDS, "pids", NUMBER, pids, "N",
		"Most processes and threads of a sandbox."),
	LIMIT(DISK, "disk", SIZE, disk, "SIZE",
		"Most disk space that the files of a sandbox take."),
	LIMIT(INODES, "inodes", NUMBER, inodes, "N",
		"Most files of a sandbox."),
	LIMIT(FILE_SIZE, "file-size", SIZE, file_size, "SIZE",
		"Largest single file in a sandbox."),
	LIMIT(OPEN_FILES, "open-files", NUMBER, files, "N",
		"Most files that a process in a sandbox has open; fewer where all its processes "
		"could fill an eighth of the host's fs.file-max."),
	[OPTION_CALLS] = { "calls", CHOICE(calls), .verbs = SANDBOXES, .in_file = true,
		.word = "PROFILE", .initial_text = "standard", .choices = call_profiles,
		.help = "The system calls that programs may make: strict leaves out those that are "
			"rarely needed, debug adds those of debuggers." },
	[OPTION_GPU] = { "gpu", TEXT(gpu), .verbs = SANDBOXES, .in_file = true, .word = "WHICH",
		.initial_text = "none", .accepts = opt_not_empty,
		.expected = "none, auto, a number or a name",
		.help = "Graphics processors that a sandbox may use: none, auto for all, a number "
			"of them, or one by its name." },
	[OPTION_GPU_MAX] = { "gpu-max", TEXT(gpu_max), SETTING, .word = "WHICH",
		.accepts = opt_not_empty, .expected = "none, auto, a number or a name",
		.help = "Graphics processors that a client may ask for instead of --gpu, in the "
			"same words. Without this option: those of --gpu." },
	[OPTION_CDI_DIRS] = { "cdi-dirs", TEXT(cdi_dirs), .verbs = SANDBOXES, .in_file = true,
		.word = "DIR:...", .initial_text = "/etc/cdi:/var/run/cdi",
		.accepts = opt_not_empty, .expected = "directories with : between",
		.help = "Directories with descriptions of graphics processors (Container Device "
			"Interface)." },
	[OPTION_NETWORK] = { "network", CHOICE(network), .verbs = SANDBOXES, .in_file = true,
		.word = "POLICY", .initial_text = "none", .choices = net_mode_names,
		.help = "What programs in a sandbox may reach, unless its creator asks for another "
			"policy: none, packages (the package indexes), allow (the hosts of "
			"--allow-hosts) or open (every public host)." },
	[OPTION_NETWORK_MAX] = { "network-max", CHOICE(network_max), SETTING, .word = "POLICY",
		.initial_text = "packages", .choices = net_mode_names,
		.help = "The most that a client may ask for instead of --network. With packages, "
			"install_packages works in every sandbox; with none, no sandbox has any "
			"network. With --allow-hosts it is allow." },
	[OPTION_ALLOW_HOSTS] = { "allow-hosts", TEXT(allow_hosts), .verbs = SANDBOXES,
		.in_file = true, .word = "HOST,...", .accepts = opt_not_empty,
		.expected = "hosts with , between",
		.help = "Hosts that sandboxes with the policy 'allow' may reach: a name, *. and a "
			"domain, an address, each with :PORT or :* behind it for other ports than "
			"80 and 443. Addresses that are not public must be listed as such." },
	[OPTION_ASK_HOSTS] = { "ask-hosts", TEXT(ask_hosts), SETTING, .word = "HOST,...",
		.accepts = opt_not_empty, .expected = "hosts with , between",
		.help = "Hosts that the user of a client may allow, when the client asks with "
			"request_network; * is every public host. Without a user it is always "
			"no." },
	[OPTION_DENY_HOSTS] = { "deny-hosts", TEXT(deny_hosts), .verbs = SANDBOXES, .in_file = true,
		.word = "HOST,...", .accepts = opt_not_empty, .expected = "hosts with , between",
		.help = "Hosts that no sandbox may reach, whatever its policy." },
	[OPTION_NETWORK_CONNECTIONS] = { "network-connections", NUMBER(gate.connections),
		.verbs = SANDBOXES, .in_file = true, .word = "NUMBER", RANGE(200, 1, 200),
		.help = "Connections to hosts outside that a sandbox may have at a time; more "
			"wait." },
	[OPTION_NETWORK_BYTES] = { "network-bytes", SIZE(gate.bytes), .verbs = SANDBOXES,
		.in_file = true, .word = "SIZE", RANGE(256ULL * GIB, 0, 1ULL << 60),
		.help = "Bytes that a sandbox may send to and receive from hosts outside, in all, "
			"while it is awake; 0 is no limit. Then its connections end, and new ones "
			"are refused." },
	[OPTION_NETWORK_RATE] = { "network-rate", SIZE(gate.rate), .verbs = SANDBOXES,
		.in_file = true, .word = "SIZE", RANGE(0, 0, 1ULL << 40),
		.help = "Bytes per second that a sandbox may send to and receive from hosts "
			"outside, in all; 0 is no limit." },
	[OPTION_NETWORK_DIAL] = { "network-dial", NUMBER(gate.dial_s), .verbs = SANDBOXES,
		.in_file = true, .word = "SECONDS", RANGE(20, 1, 300),
		.help = "Seconds in which a host outside must be found and connected." },
	[OPTION_SECRET] = { "secret", TEXT(secret), .verbs = SANDBOXES, .in_file = true,
		.word = "NAME@HOST,...", .accepts = opt_not_empty,
		.expected = "NAME@HOST or NAME=VALUE@HOST with , between",
		.help = "Secrets that programs may use without having them: in a sandbox with a "
			"network, the variable NAME holds a placeholder, which the gate replaces "
			"by the value in plain HTTP requests to HOST, and in TLS with "
			"--intercept-tls, in header fields for credentials only (Authorization, "
			"X-Api-Key and the like; README.md lists them). The value is that "
			"of the variable NAME of this process, or behind '='." },
	[OPTION_SECRET_FILE] = { "secret-file", PATH(secret_file), .verbs = SANDBOXES,
		.in_file = true, .word = "FILE",
		.help = "A file with a secret in each line, NAME=VALUE@HOST; lines that begin with "
			"# are comments." },
	[OPTION_INTERCEPT_TLS] = { "intercept-tls", FLAG(intercept_tls), .verbs = SANDBOXES,
		.in_file = true,
		.help = "Insert secrets in TLS connections to their hosts, too (port 443, or the "
			"port that --secret names). Belljar ends the program's TLS with a CA of "
			"its own, which programs in sandboxes are told to trust, and verifies the "
			"host. Connections to all other hosts stay untouched." },
	[OPTION_INTERCEPT_CA] = { "intercept-ca", PATH(intercept_ca), .verbs = SANDBOXES,
		.in_file = true, .word = "FILE",
		.help = "A PEM file with certificates of CAs that hosts of secrets are verified "
			"with, besides those of this machine; for --intercept-tls." },
	[OPTION_PIP_INDEX] = { "pip-index", TEXT(pip_index), .verbs = SANDBOXES | FOR_CACHE,
		.in_file = true, .word = "URL", .accepts = opt_not_empty, .expected = "a URL",
		.help = "The index of Python packages, instead of the one that pip is configured "
			"for on this machine, or the public one." },
	[OPTION_NPM_REGISTRY] = { "npm-registry", TEXT(npm_registry),
		.verbs = SANDBOXES | FOR_CACHE, .in_file = true, .word = "URL",
		.accepts = opt_not_empty, .expected = "a URL",
		.help = "The registry of JavaScript packages, instead of the one that npm is "
			"configured for on this machine, or the public one." },
	[OPTION_PACKAGE_CACHE] = { "package-cache", SIZE(package_cache), .verbs = SANDBOXES,
		.in_file = true, .word = "SIZE", RANGE(2ull << 30, 0, 1ull << 50),
		.help = "How many bytes of packages are kept for all sandboxes. Installers then "
			"get packages from belljar, which alone talks to the indexes; with 0 they "
			"reach the indexes themselves, and nothing is kept." },
	[OPTION_NO_AUTO_PACKAGES] = { "no-auto-packages", FLAG(no_auto_packages), SETTING,
		.help = "Do not install packages automatically. Without this flag, what a project "
			"lists (requirements.txt, pyproject.toml, package.json) is installed "
			"before its first run, and a run that fails because a module is missing "
			"installs the package and is repeated once, if packages can be installed "
			"at all." },
	[OPTION_ONE_ID] = { "one-id", FLAG(one_id), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true,
		.help = "Use no subordinate user ids, even where there are some. This is weaker." },
	[OPTION_NO_CGROUPS] = { "no-cgroups", FLAG(no_cgroups), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true,
		.help = "Use no cgroups, even where they are available. This is weaker." },
	[OPTION_NO_QUOTA] = { "no-quota", FLAG(no_quota), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true,
		.help = "Use neither disk quotas nor disk images, even where they are available. "
			"This is weaker." },
	[OPTION_REQUIRE] = { "require", TEXT(require), .verbs = SANDBOXES | FOR_DOCTOR,
		.in_file = true, .word = "LAYER,...", .accepts = opt_not_empty,
		.expected = "names of layers",
		.help = "Refuse to start unless these layers are on; 'belljar doctor' lists "
			"them." },
	[OPTION_ENGINE] = { "engine", CHOICE(engine), .in_file = true,
		.verbs = SANDBOXES | FOR_DOCTOR | FOR_RM,
		.word = "ENGINE", .initial_text = "native", .choices = engines,
		.help = "What creates sandboxes: native is belljar itself, docker a Docker or "
			"Podman that runs already, auto is native where this machine allows it "
			"and docker elsewhere." },
	[OPTION_IMAGE] = { "image", TEXT(image), .verbs = SANDBOXES, .in_file = true,
		.word = "NAME", .accepts = spec_is_image,
		.expected = "the name of an image, such as python:3",
		.help = "The image of sandboxes in the docker engine, pulled if it is missing. "
			"Without this option: belljar-sandbox, which 'make image' builds, else "
			"python:3." },
	[OPTION_IMAGES] = { "images", TEXT(images), SETTING, .word = "NAME,...",
		.accepts = opt_image_list, .expected = "names of images with , between",
		.help = "Images that a client may have pulled; a name that ends in * stands for "
			"all that begin like it. Images that Docker has already may always be "
			"used. Without this option: the usual images of the profiles that are "
			"served." },
	[OPTION_DOCKER_HOST] = { "docker-host", TEXT(docker_host), .in_file = true,
		.verbs = SANDBOXES | FOR_DOCTOR | FOR_RM, .word = "URL", .accepts = opt_not_empty,
		.expected = "an address such as unix:///run/docker.sock",
		.help = "Where the docker engine finds Docker, instead of DOCKER_HOST, Docker's "
			"context and the usual sockets." },
	[OPTION_DOCKER_RUNTIME] = { "docker-runtime", TEXT(docker_runtime), .in_file = true,
		.verbs = SANDBOXES | FOR_DOCTOR, .word = "NAME", .accepts = opt_word,
		.expected = "the name of a runtime, such as runsc",
		.help = "The OCI runtime of containers, such as runsc (gVisor) or kata, instead of "
			"Docker's default." },
	[OPTION_DOCKER_ROOT] = { "docker-root", CHOICE(docker_root), .in_file = true,
		.verbs = SANDBOXES | FOR_DOCTOR, .word = "HOW", .initial_text = "read-only",
		.choices = docker_roots,
		.help = "Whether programs may write outside of /workspace, their home directory "
			"and /tmp, where file permissions allow it. What they write there is lost "
			"when the sandbox sleeps." },
	[OPTION_PROFILE] = { "profile", TEXT(profile), SETTING, .word = "NAME",
		.initial_text = "default", .accepts = opt_profile,
		.expected = "one of " PROFILE_NAMES,
		.help = "The set of tools that clients get: " PROFILE_NAMES ". All but the first "
			"have the tools of another server: doc/profiles.md." },
	[OPTION_NO_PERSISTENT] = { "no-persistent", FLAG(no_persistent), SETTING,
		.help = "With --profile code-sandbox: give each sandbox_initialize a sandbox of "
			"its own that is removed with the server." },
	[OPTION_TRUST_USER_HEADER] = { "trust-user-header", FLAG(trust_user_header), SETTING,
		.help = "Behind a proxy that sets it: the header x-user-id names a user of the "
			"caller, who has sandboxes of their own." },
	[OPTION_ARTIFACT_LIMIT] = { "artifact-limit", NUMBER(artifact_mib), SETTING,
		.also_variable = "MCP_ARTIFACT_SIZE_LIMIT_MB", .word = "MIB", RANGE(50, 1, 60),
		.help = "Largest file that --profile execution-client gives out at /artifacts, in "
			"MiB." },
	[OPTION_ALLOW_PATH] = { "allow-path", TEXT(allow_path), SETTING, .word = "DIR:...",
		.accepts = opt_not_empty, .expected = "directories with : between",
		.help = "Directories of this machine that copy_in may read and copy_out may "
			"write." },
	[OPTION_ROOTS] = { "roots", CHOICE(roots), SETTING, .word = "WHETHER",
		.initial_text = "auto", .choices = root_choices,
		.help = "Whether copy_in and copy_out may use the directories that a client "
			"declares as its roots; auto is no for root and yes for other users." },
	[OPTION_NO_ROOTS] = { "no-roots", FLAG(no_roots), SETTING,
		.help = "The same as --roots no." },
	[OPTION_IDLE] = { "idle", NUMBER(idle_s), SETTING, .word = "SECONDS",
		RANGE(900, 0, 31536000),
		.help = "Seconds without use after which a sandbox sleeps: its processes end, its "
			"files stay; 0 is never. If given, it is also the most that a client "
			"may ask for." },
	[OPTION_LIFETIME] = { "lifetime", NUMBER(lifetime_s), SETTING, .word = "SECONDS",
		RANGE(2592000, 0, 315360000),
		.help = "Seconds after its creation when a sandbox is deleted; 0 is never. If "
			"given, it is also the most that a client may ask for." },
	[OPTION_OWNER_SANDBOXES] = { "owner-sandboxes", NUMBER(owner.sandboxes), SETTING,
		.word = "N", RANGE(1000, 0, 1000000),
		.help = "Most sandboxes of one owner; 0 is no limit." },
	[OPTION_OWNER_PROCESSES] = { "owner-processes", NUMBER(owner.processes), SETTING,
		.word = "N", RANGE(256, 0, 1000000),
		.help = "Most runs and background processes of one owner at a time; 0 is no "
			"limit." },
	[OPTION_OWNER_MEMORY] = { "owner-memory", SIZE(owner.memory), SETTING, .word = "SIZE",
		RANGE(0, 0, 65536ULL * GIB), .computed = "four times this machine's memory",
		.help = "Most memory of all awake sandboxes of one owner, added up by their "
			"limits; 0 is no limit." },
	[OPTION_OWNER_DISK] = { "owner-disk", SIZE(owner.disk), SETTING, .word = "SIZE",
		RANGE(0, 0, 1048576ULL * GIB),
		.computed = "four times the file system of the state directory",
		.help = "Most disk space of all sandboxes of one owner, added up by their limits; "
			"0 is no limit." },
	[OPTION_ANSWER_WITHIN] = { "answer-within", NUMBER(answer_ms), SETTING, .word = "MS",
		RANGE(45000, 100, 86400000),
		.help = "Milliseconds after which a call returns; a program that still runs "
			"continues, and process_output reads its output." },
	[OPTION_RUN_TIMEOUT] = { "run-timeout", NUMBER(run_timeout_s), SETTING, .word = "SECONDS",
		RANGE(300, 1, 86400),
		.help = "Seconds after which a program started without timeout_s is killed." },
	[OPTION_MAX_OUTPUT] = { "max-output", SIZE(max_output), SETTING, .word = "SIZE",
		RANGE(24000, 2000, MIB),
		.help = "Most bytes of text in one result; of longer output, the beginning and the "
			"end." },
	[OPTION_OUTPUT_FILE] = { "output-file", SIZE(output_file), SETTING, .word = "SIZE",
		RANGE(256 * MIB, MIB, 1024ULL * GIB),
		.help = "Largest file that keeps the whole of an output too long for a result." },
	[OPTION_PICTURE_PIXELS] = { "picture-pixels", NUMBER(picture_pixels), SETTING, .word = "N",
		RANGE(1500000, 10000, 100000000),
		.help = "Most pixels of a picture that code produces." },
	[OPTION_PICTURE_BYTES] = { "picture-bytes", SIZE(picture_bytes), SETTING, .word = "SIZE",
		RANGE(700 * KIB, 10 * KIB, 8 * MIB),
		.help = "Most bytes of a picture that code produces." },
	[OPTION_COPY_SIZE] = { "copy-size", SIZE(copy_size), SETTING, .word = "SIZE",
		RANGE(2ULL * GIB, MIB, 1024ULL * GIB),
		.help = "Most bytes of one copy between this machine and a sandbox." },
	[OPTION_COPY_TRUSTED] = { "copy-trusted", TEXT(copy_trusted), .verbs = FOR_SERVE | FOR_CP,
		.in_file = true, .word = "KIND,...", .accepts = opt_trusted_list,
		.expected = "'all', or kinds that the manual page lists",
		.help = "Copy these kinds of files to this machine although programs here execute "
			"or trust them by themselves: 'all', or kinds such as git-hooks and "
			"agents, which the manual page lists." },
	[OPTION_COPY_EXECUTABLES] = { "copy-executables", FLAG(copy_executables),
		.verbs = FOR_SERVE | FOR_CP, .in_file = true,
		.help = "Let files that are copied to this machine stay executable, also those "
			"that were not executable here before." },
	[OPTION_PREVIEW] = { "preview", FLAG(preview), .verbs = FOR_CP, .flag_only = true,
		.help = "Write nothing, and print what would change as a list and a diff." },
	[OPTION_LANGUAGE] = { "language", TEXT(language), .verbs = FOR_RUN, .flag_only = true,
		.word = "NAME", .accepts = opt_not_empty, .expected = "the name of a language",
		.help = "The language of the code, if the file's name does not show it." },
	[OPTION_KEEP] = { "keep", FLAG(keep), .verbs = FOR_RUN, .flag_only = true,
		.help = "Keep the sandbox when the code has ended, and print its id." },
	[OPTION_WITH] = { "with", TEXT(with), .verbs = FOR_RUN, .flag_only = true,
		.word = "PATH:...", .accepts = opt_not_empty, .expected = "paths with : between",
		.help = "Copy these files, and what these directories contain, into /workspace, "
			"and run the code there beside them." },
	[OPTION_SANDBOX] = { "sandbox", TEXT(sandbox), .verbs = FOR_EXEC | FOR_RUN,
		.flag_only = true, .word = "NAME", .accepts = opt_sandbox_name,
		.expected = "a name of letters, digits, . _ -",
		.help = "The sandbox to use, by name or id. If there is none of that name it is "
			"created and kept. Without this option a new one is created and deleted "
			"afterwards." },
	[OPTION_USER] = { "user", TEXT(user), .flag_only = true, .word = "NAME",
		.verbs = FOR_EXEC | FOR_RUN | FOR_SHELL | FOR_PS | FOR_LOGS | FOR_CP | FOR_RM |
			 FOR_PORT,
		.accepts = opt_token_user, .expected = "the name of a user of 'belljar token'",
		.help = "Work on the sandboxes of this user of 'belljar serve --auth token', "
			"instead of your own." },
	[OPTION_TIMEOUT] = { "timeout", NUMBER(timeout_s), .verbs = FOR_EXEC | FOR_RUN,
		.flag_only = true, .word = "SECONDS", RANGE(0, 0, 1000000),
		.help = "Seconds after which the program is killed; 0 is never." },
	[OPTION_TERMINAL] = { "terminal", FLAG(terminal), .verbs = FOR_EXEC, .flag_only = true,
		.help = "Give the program a terminal of its own, as 'belljar shell' does; -t is "
			"short for it." },
	[OPTION_JSON] = { "json", FLAG(json), .flag_only = true,
		.verbs = FOR_DOCTOR | FOR_PS | FOR_LOGS | FOR_CLIENT | FOR_TOKEN | FOR_CACHE,
		.help = "Print JSON instead of text." },
	[OPTION_WRITE] = { "write", FLAG(write), .verbs = FOR_CONNECT, .flag_only = true,
		.help = "Edit the client's file, after making a backup beside it." },
	[OPTION_NAME] = { "name", TEXT(name), .verbs = FOR_CONNECT, .flag_only = true,
		.word = "NAME", .initial_text = "belljar", .accepts = opt_server_name,
		.expected = "1 to 32 letters, digits, '_' or '-'",
		.help = "The name of this server in the client." },
	[OPTION_FILE] = { "file", PATH(file), .verbs = FOR_CONNECT, .flag_only = true,
		.word = "FILE",
		.help = "The file to edit instead of the client's usual one." },
	/* --http names the addresses of 'serve'; in verbs that connect to a server, its URL. */
	[OPTION_URL] = { "http", TEXT(url), .verbs = FOR_CONNECT | FOR_CLIENT,
		.flag_only = true, .word = "URL", .accepts = opt_url,
		.expected = "a URL such as http://127.0.0.1:8000/mcp",
		.help = "Connect to a server at this URL, instead of starting one." },
	[OPTION_TOKEN_ENV] = { "token-env", TEXT(token_env), .verbs = FOR_CONNECT | FOR_CLIENT,
		.flag_only = true, .word = "NAME", .accepts = opt_variable_name,
		.expected = "the name of an environment variable that does not start with BELLJAR_",
		.help = "The environment variable from which the client takes the token for "
			"--http; the token itself is written nowhere." },
	[OPTION_SCOPES] = { "scopes", TEXT(scopes), .verbs = FOR_TOKEN, .flag_only = true,
		.word = "SCOPE,...", .initial_text = "run,files", .accepts = opt_not_empty,
		.expected = "scopes with , between",
		.help = "What the token is for: run (run code, sandboxes), files (files in "
			"sandboxes), admin (copies from and to this machine)." },
	[OPTION_EXPIRES] = { "expires", TEXT(expires), .verbs = FOR_TOKEN, .flag_only = true,
		.word = "WHEN", .initial_text = "90d", .accepts = opt_not_empty,
		.expected = "an expiry",
		.help = "When the token expires: never, a duration such as 30d or 12h, or a date "
			"such as 2027-01-31." },
	[OPTION_NOTE] = { "note", TEXT(note), .verbs = FOR_TOKEN, .flag_only = true,
		.word = "TEXT", .accepts = opt_not_empty, .expected = "a text",
		.help = "A remark that 'belljar token list' shows, such as the device." },
};
/* clang-format on */
