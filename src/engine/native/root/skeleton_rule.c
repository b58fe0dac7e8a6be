/* skeleton_rule.c - which entries of the host's /etc a skeleton has because a program needs them.
 *
 * A toolchain finds its libraries by a file such as /etc/ldc2.conf or a directory such as /etc/R,
 * which has the name of its program. But operators and vendors keep passwords, tokens and names of
 * machines in files of this kind too, and every user of the host may read many of them. So an entry
 * is refused as soon as one of these checks is in doubt: its name, a system service of the same
 * name, a file in it that only some users may read. Its files must be as a package brought them
 * (skeleton_package.c), and their text must have nothing of a secret all the same: packages of a
 * company's own may. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/view.h"
#include "engine/native/root/internal.h"

enum { STEM_SIZE = 64 };

const char *const skeleton_rule_dirs[] = {
	"usr/bin",
	"usr/local/bin",
	"usr/lib/systemd/system",
	"lib/systemd/system",
	"etc/systemd/system",
	"etc/init.d",
	NULL,
};

static const char *const program_dirs[] = { "usr/bin", "usr/local/bin" };

/* Endings of a configuration file's or directory's name after that of its program. */
static const char *const endings[] = { ".conf.d", ".config", ".conf", ".cfg",
	                               ".ini",    ".rc",     ".d",    "rc" };

/* Names of programs whose configuration may hold passwords, tokens or names of other machines, or
 * is about the administration of this one; and names of directories that only look like a program's
 * (/etc/opt is not the configuration of LLVM's opt). "ssh" also stands for ssh2 and ssh-agent, not
 * for sshx: see is_refused(). */
static const char refused[] =
        /* this machine: users, boot, packages, services */
        "adduser apk apparmor apt aptitude at batch belljar cloud cron crontab cups "
        "dbus debconf default deluser dnf dracut env environment flatpak group "
        "gshadow guix host hostname hosts id init ip issue journalctl kernel local "
        "log login logrotate lp lvm machine mdadm modprobe motd mount network "
        "networks nix nss opt pacman pam passwd pkg polkit portage ppp profile rc "
        "rpm security selinux sensors shadow snap su sudo sysconfig sysctl system "
        "systemd udev user who X11 yum zypper "
        /* other machines: copies, mail, chat, data bases, tunnels, clusters */
        "ansible autofs bacula bitlbee borg borgmatic chef condor consul corosync "
        "cvs davfs2 distcc dovecot duplicity etcd exim fetchmail freetds ftp getmail "
        "grafana icecc influx ipsec irssi iscsi kea kinit krb5 ldap lftp mail mailx "
        "mariadb mbsync mongo mongod mongodb mosquitto msmtp munge mutt mysql nagios "
        "ncftp neomutt netrc nfs nmap nomad nut odbc offlineimap openconnect "
        "openfortivpn openvpn oracle pdsh pgpool postfix postgres postgresql "
        "proxychains psql puppet rabbitmq rclone redis restic rsnapshot rsync salt "
        "samba sendmail slurm smb smbclient snmp sqlplus ssh ssl sslh ssmtp stunnel "
        "swaks tarsnap telegraf tor torsocks tsocks vpnc weechat wg wireguard wpa "
        "zabbix znc "
        /* clouds, containers, package indexes, version control */
        "aws az azure boto buildah buildkit bundle cargo cni composer conda "
        "containerd containers cri crictl crio curl docker doctl fly gcloud gem gh "
        "git gitea gitlab glab google gpg gradle gsutil hadoop hdfs helm hg hive "
        "http jupyter jupyterhub k0s k3s kafka kube kubeadm kubectl kubelet "
        "kubernetes lxc lxd mamba minikube mvn npm nuget oc ollama pip pipx pnpm "
        "podman poetry pulumi rancher rke2 s3cmd s3fs sbt skopeo spack spark "
        "subversion svn terraform tofu twine uv vagrant vault virsh wget yarn ";

/* --- names --------------------------------------------------------------------------- */

static bool is_refused(const char *name)
{
	for (const char *word = refused; *word != '\0'; word += strcspn(word, " ") + 1) {
		size_t len = strcspn(word, " ");

		if (strncmp(name, word, len) == 0 && !isalpha((unsigned char)name[len]))
			return true;
	}
	return false;
}

/* /usr/bin/X11 is a link to /usr/bin itself. */
static bool is_program_in(int host, const char *dir, const char *name)
{
	char path[STEM_SIZE + 32];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	if (fstatat(host, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(st.st_mode))
		return fstatat(host, path, &st, 0) < 0 || !S_ISDIR(st.st_mode);
	return S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0;
}

static bool is_program(int host, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(program_dirs); i++)
		if (is_program_in(host, program_dirs[i], name))
			return true;
	return false;
}

static bool exists(int host, const char *dir, const char *name, const char *ending)
{
	char path[STEM_SIZE + 64];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/%s%s", dir, name, ending);
	return fstatat(host, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Where /usr/sbin is a link to /usr/bin, daemons are among the programs. */
static bool is_service(int host, const char *name)
{
	static const char *const units[] = { ".service", "d.service", "@.service", "d@.service",
		                             ".socket",  ".timer",    ".mount" };

	for (size_t i = ARRAY_LEN(program_dirs); skeleton_rule_dirs[i] != NULL; i++) {
		if (exists(host, skeleton_rule_dirs[i], name, ""))
			return true;
		for (size_t j = 0; j < ARRAY_LEN(units); j++)
			if (exists(host, skeleton_rule_dirs[i], name, units[j]))
				return true;
	}
	return false;
}

/* Cuts an ending; fpc.cfg becomes fpc. */
static bool cut_ending(char stem[STEM_SIZE])
{
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (view_ends(view_of(stem), endings[i]) && strlen(stem) > strlen(endings[i]) + 1) {
			stem[strlen(stem) - strlen(endings[i])] = '\0';
			return true;
		}
	return false;
}

/* Cuts a version: java-17-openjdk becomes java, guile3.0 becomes guile. */
static bool cut_version(char stem[STEM_SIZE])
{
	size_t len = strlen(stem), end = len;

	for (char *dash = strchr(stem, '-'); dash != NULL; dash = strchr(dash + 1, '-'))
		if (isdigit((unsigned char)dash[1]) && dash > stem + 1) {
			*dash = '\0';
			return true;
		}
	while (end > 0 && (isdigit((unsigned char)stem[end - 1]) || stem[end - 1] == '.'))
		end--;
	if (end == len || end < 2)
		return false;
	stem[end] = '\0';
	return true;
}

/* The name itself, without an ending, and without a version. */
bool skeleton_rule_names(int host, const char *name)
{
	bool (*const cuts[])(char stem[STEM_SIZE]) = { cut_ending, cut_version };
	bool is_known = false;
	char stem[STEM_SIZE];

	if (strlen(name) >= sizeof stem || !isalpha((unsigned char)name[0]))
		return false;
	(void)snprintf(stem, sizeof stem, "%s", name);
	for (size_t i = 0;; i++) {
		if (is_refused(stem))
			return false;
		if (is_program(host, stem)) {
			if (is_service(host, stem))
				return false;
			is_known = true;
		}
		while (i < ARRAY_LEN(cuts) && !cuts[i](stem))
			i++;
		if (i >= ARRAY_LEN(cuts))
			return is_known;
	}
}

/* --- files --------------------------------------------------------------------------- */

/* Parts of names in any case, and what a file's text must not have. Comments count: a password that
 * is no longer used is often still valid elsewhere. */
static const char *const unsafe_names[] = {
	"auth",     "backup",       "credential", "environ.site", "hosts",   "htpasswd",
	"keystore", "netrc",        "passw",      "php.ini",      "private", "proxy",
	"secret",   "settings.xml", "token",      "truststore",   "zshenv",
};
static const char *const unsafe_endings[] = {
	".asc",  ".bak", ".gpg", ".jks", ".kdbx", ".key",  ".keytab", ".old",
	".orig", ".p12", ".pem", ".pfx", ".rej",  ".save", "~",
};
static const char *const unsafe_words[] = {
	"_auth",      "access-key", "access_key",  "accesskey",     "api key",     "api-key",
	"api_key",    "apikey",     "credential",  "authorization", "bearer ",     "begin openssh",
	"passphrase", "passw",      "private key", "private-key",   "private_key", "privatekey",
	"proxy",      "secret",     "token",
};

static bool has_text(struct view in, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i + len <= in.len; i++)
		if (view_starts_nocase((struct view){ in.ptr + i, in.len - i }, text))
			return true;
	return false;
}

bool skeleton_rule_allows_name(const char *name)
{
	if (name[0] == '.')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(unsafe_names); i++)
		if (has_text(view_of(name), unsafe_names[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(unsafe_endings); i++)
		if (view_ends(view_of(name), unsafe_endings[i]))
			return false;
	return true;
}

/* https://user:password@host */
static bool has_login_in_url(const char *text)
{
	for (const char *at = strstr(text, "://"); at != NULL; at = strstr(at, "://")) {
		at += strlen("://");
		if (at[strcspn(at, "/@ \t\n\"'<>")] == '@')
			return true;
	}
	return false;
}

/* Binary data may be anything, so a text with a NUL is refused. */
bool skeleton_rule_allows_text(const char *text, size_t len)
{
	if (memchr(text, '\0', len) != NULL || has_login_in_url(text))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(unsafe_words); i++)
		if (strcasestr(text, unsafe_words[i]) != NULL)
			return false;
	return true;
}

/* A target elsewhere would tell where the host keeps its files. */
bool skeleton_rule_allows_link(const char *target)
{
	struct view rest = view_of(target);

	if (target[0] == '/')
		return view_starts(rest, "/usr/") || view_starts(rest, "/etc/");
	if (view_starts(rest, "../"))
		target += strlen("../");
	return strstr(target, "..") == NULL;
}
