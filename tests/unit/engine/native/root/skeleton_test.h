/* skeleton_test.h - the files of a made-up host, and those its skeleton must have. */
#pragma once
#include <stddef.h>
#include <sys/stat.h>

/* In the order of creation. `text` is the target of a link or the content of a file. */
static const struct {
	const char *path;
	mode_t mode;
	const char *text;
} host_files[] = {
	{ "bin", S_IFLNK, "usr/bin" },
	{ "usr", S_IFDIR | 0755, NULL },
	{ "usr/bin", S_IFDIR | 0755, NULL },
	{ "usr/bin/bash", S_IFREG | 0755, "" },
	{ "lib", S_IFDIR | 0755, NULL },
	{ "lib/libc.so", S_IFREG | 0644, "x" },
	{ "opt", S_IFDIR | 0755, NULL },
	{ "opt/product", S_IFDIR | 0755, NULL },
	{ "etc", S_IFDIR | 0755, NULL },
	{ "etc/alternatives", S_IFDIR | 0755, NULL },
	{ "etc/alternatives/vi", S_IFLNK, "/usr/bin/vim" },
	{ "etc/alternatives/vi.1.gz", S_IFLNK, "/usr/share/man/man1/vim.1.gz" },
	{ "etc/environment", S_IFREG | 0644, "TOKEN=x" },
	{ "etc/fonts", S_IFDIR | 0700, NULL },
	{ "etc/fonts/fonts.conf", S_IFREG | 0644, "x" },
	{ "etc/group", S_IFREG | 0644, "host:x:7:" },
	{ "etc/java", S_IFREG | 04755, "java" },
	{ "etc/java-17-openjdk", S_IFDIR | 0755, NULL },
	{ "etc/java-17-openjdk/security", S_IFDIR | 0755, NULL },
	{ "etc/java-17-openjdk/security/policy", S_IFREG | 0664, "grant" },
	{ "etc/localtime", S_IFLNK, "/usr/share/zoneinfo/Europe/Berlin" },
	{ "etc/maven", S_IFDIR | 0755, NULL },
	{ "etc/maven/m2.conf", S_IFREG | 0644, "m2" },
	{ "etc/maven/settings.xml", S_IFREG | 0644, "<password>" },
	{ "etc/passwd", S_IFREG | 0644, "host:x:7:7::/:/bin/sh" },
	{ "etc/profile.d", S_IFDIR | 0755, NULL },
	{ "etc/profile.d/proxy.sh", S_IFREG | 0644, "export https_proxy=http://me:secret@x" },
	{ "etc/rpc", S_IFREG | 0600, "x" },
	{ "etc/services", S_IFIFO | 0644, NULL },
	{ "etc/shadow", S_IFREG | 0600, "x" },
	{ "etc/ssl", S_IFDIR | 0755, NULL },
	{ "etc/ssl/certs", S_IFDIR | 0755, NULL },
	{ "etc/ssl/certs/0a1b2c3d.0", S_IFLNK, "a.pem" },
	{ "etc/ssl/certs/a.pem", S_IFREG | 0644, "a certificate" },
	{ "etc/ssl/certs/mine.key", S_IFREG | 0644, "x" },
	{ "etc/ssl/certs/private", S_IFDIR | 0755, NULL },
	{ "etc/ssl/certs/private/b.pem", S_IFREG | 0644, "x" },
	{ "etc/ssl/private", S_IFDIR | 0755, NULL },
	{ "etc/ssl/private/a.pem", S_IFREG | 0644, "x" },
	{ "proc", S_IFDIR | 0755, NULL },
	{ "sys", S_IFDIR | 0755, NULL },
	{ "sys/devices", S_IFDIR | 0755, NULL },
	{ "sys/devices/system", S_IFDIR | 0755, NULL },
	{ "sys/devices/system/cpu", S_IFDIR | 0755, NULL },
	{ "sys/devices/system/cpu/online", S_IFREG | 0444, "0-3\n" },
	{ "sys/devices/system/cpu/cpufreq", S_IFREG | 0444, "x" },
};

/* `text` NULL: the content is not checked. */
static const struct {
	const char *path;
	mode_t mode;
	const char *text;
} expected[] = {
	{ "", S_IFDIR | 0755, NULL },
	{ "bin", S_IFLNK | 0777, "usr/bin" },
	{ "dev", S_IFDIR | 0755, NULL },
	{ "etc", S_IFDIR | 0755, NULL },
	{ "etc/alternatives", S_IFDIR | 0755, NULL },
	{ "etc/alternatives/vi", S_IFLNK | 0777, "/usr/bin/vim" },
	{ "etc/bash.bashrc", S_IFREG | 0644, NULL },
	{ "etc/belljar", S_IFDIR | 0755, NULL },
	{ "etc/belljar-node.js", S_IFREG | 0644, NULL },
	{ "etc/belljar-ruby.rb", S_IFREG | 0644, NULL },
	{ "etc/belljar-stdio.h", S_IFREG | 0644, NULL },
	{ "etc/belljar/python", S_IFREG | 0755, "#!/bin/sh\nexec python3 \"$@\"\n" },
	{ "etc/group", S_IFREG | 0644,
	  "root:x:0:\ntty:x:5:\nusers:x:100:\nbelljar:x:999:\ncoderunner:x:1000:\n"
	  "nogroup:x:65534:\n" },
	{ "etc/hostname", S_IFREG | 0644, "sandbox\n" },
	{ "etc/hosts", S_IFREG | 0644, "127.0.0.1 localhost sandbox\n::1 localhost\n" },
	{ "etc/java", S_IFREG | 0755, "java" },
	{ "etc/java-17-openjdk", S_IFDIR | 0755, NULL },
	{ "etc/java-17-openjdk/security", S_IFDIR | 0755, NULL },
	{ "etc/java-17-openjdk/security/policy", S_IFREG | 0644, "grant" },
	{ "etc/localtime", S_IFLNK | 0777, "/usr/share/zoneinfo/Europe/Berlin" },
	{ "etc/machine-id", S_IFREG | 0644, "" },
	{ "etc/maven", S_IFDIR | 0755, NULL },
	{ "etc/maven/m2.conf", S_IFREG | 0644, "m2" },
	{ "etc/mtab", S_IFLNK | 0777, "/proc/mounts" },
	{ "etc/nsswitch.conf", S_IFREG | 0644, NULL },
	{ "etc/passwd", S_IFREG | 0644,
	  "root:x:0:0:root:/root:/bin/bash\n"
	  "belljar:x:999:999:agent:/:/usr/sbin/nologin\n"
	  "coderunner:x:1000:1000::/home/coderunner:/bin/bash\n"
	  "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
	{ "etc/pip.conf", S_IFREG | 0644, NULL },
	{ "etc/profile", S_IFREG | 0644, NULL },
	{ "etc/resolv.conf", S_IFREG | 0644, "options timeout:1 attempts:1\n" },
	{ "etc/ssl", S_IFDIR | 0755, NULL },
	{ "etc/ssl/certs", S_IFDIR | 0755, NULL },
	{ "etc/ssl/certs/0a1b2c3d.0", S_IFLNK | 0777, "a.pem" },
	{ "etc/ssl/certs/a.pem", S_IFREG | 0644, "a certificate" },
	{ "home", S_IFDIR | 0755, NULL },
	{ "lib", S_IFDIR | 0755, NULL },
	{ "proc", S_IFDIR | 0755, NULL },
	{ "root", S_IFDIR | 0700, NULL },
	{ "run", S_IFDIR | 0755, NULL },
	{ "skills", S_IFDIR | 0755, NULL },
	{ "sys", S_IFDIR | 0755, NULL },
	{ "sys/devices", S_IFDIR | 0755, NULL },
	{ "sys/devices/system", S_IFDIR | 0755, NULL },
	{ "sys/devices/system/cpu", S_IFDIR | 0755, NULL },
	{ "sys/devices/system/cpu/online", S_IFREG | 0644, "0-3\n" },
	{ "tools", S_IFDIR | 0755, NULL },
	{ "usr", S_IFDIR | 0755, NULL },
	{ "var", S_IFDIR | 0755, NULL },
	{ "var/lock", S_IFLNK | 0777, "/run/lock" },
	{ "var/run", S_IFLNK | 0777, "/run" },
};
