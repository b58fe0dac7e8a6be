/* container.c - how a container is made (see internal.h).
 *
 * Every option that decides about rights is a constant here and comes from no request. A sandbox
 * has no capability, no new privileges, no network, a read-only root, one user. An installer is
 * root with a few capabilities, and has no network either: it shares the empty one of a sandbox. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/num.h"
#include "engine/docker/internal.h"
#include "engine/native/cdi/cdi.h"
#include "engine/root_files.h"

#define HOST_NAME "sandbox"

enum { AGENT_FILES = 16384, PROCESSES = 16384, MASKS_MAX = 4096 };

static const struct {
	const char *name, *target;
} docker_volumes[VOLUME_COUNT] = {
	{ "workspace", SPEC_WORKSPACE },
	{ "home", SPEC_HOME },
	{ "tmp", "/tmp" },
	{ "app", "/app" },
	{ "artifacts", "/artifacts" },
};

const char *container_name(const char *id, char out[DOCKER_NAME_SIZE])
{
	(void)snprintf(out, DOCKER_NAME_SIZE, DOCKER_PREFIX "%s", id);
	return out;
}

const char *volume_name(const char *id, size_t i, char out[DOCKER_NAME_SIZE])
{
	(void)snprintf(out, DOCKER_NAME_SIZE, DOCKER_PREFIX "%s-%s", id, docker_volumes[i].name);
	return out;
}

json_t *docker_labels(const struct broker *broker, const char *role, const struct spec *spec)
{
	json_t *labels = json_obj();

	json_set(labels, LABEL_STATE, json_str(broker->options->state));
	json_set(labels, LABEL_INSTANCE, json_str(broker->options->instance));
	json_set(labels, LABEL_ROLE, json_str(role));
	if (spec != NULL) {
		json_set(labels, LABEL_SANDBOX, json_str(spec->id));
		json_set(labels, LABEL_OWNER, json_format("%016" PRIx64, spec->owner));
	}
	return labels;
}

json_t *volume_json(const struct broker *broker, const struct spec *spec, size_t i)
{
	json_t *volume = json_obj();
	char name[DOCKER_NAME_SIZE];

	json_set(volume, "Name", json_str(volume_name(spec->id, i, name)));
	json_set(volume, "Labels", docker_labels(broker, ROLE_VOLUME, spec));
	if (broker->has_quota)
		json_set(volume, "DriverOpts",
		         json_pair("size",
		                   json_format("%llu", (unsigned long long)spec->limits.disk)));
	return volume;
}

json_t *container_limits_json(const struct spec_limits *limits)
{
	json_t *all = json_obj();

	json_set(all, "Memory", json_int((json_int_t)limits->memory));
	json_set(all, "MemorySwap",
	         json_int((json_int_t)limits->memory + (json_int_t)limits->swap));
	json_set(all, "NanoCpus", json_int((json_int_t)limits->cpu * 1000000));
	json_set(all, "PidsLimit", json_int((json_int_t)limits->pids));
	return all;
}

static json_t *many_texts(const char *const *texts, size_t count)
{
	json_t *list = json_list();

	for (size_t i = 0; i < count; i++)
		json_push(list, json_str(texts[i]));
	return list;
}

static void add_ulimit(json_t *list, const char *name, uint64_t value)
{
	json_t *limit = json_obj();

	json_set(limit, "Name", json_str(name));
	json_set(limit, "Soft", json_int((json_int_t)value));
	json_set(limit, "Hard", json_int((json_int_t)value));
	json_push(list, limit);
}

static void add_mount(json_t *list, const char *type, const char *source, const char *target,
                      bool is_read_only)
{
	json_t *mount = json_obj();

	json_set(mount, "Type", json_str(type));
	json_set(mount, "Source", json_str(source));
	json_set(mount, "Target", json_str(target));
	if (is_read_only)
		json_set(mount, "ReadOnly", json_true());
	json_push(list, mount);
}

/* Through a bind mount, even a read-only one, programs could connect to sockets and FIFOs of the
 * host in the directory. Through an overlay they cannot; one with two lower layers and no upper one
 * is read-only. The volume has no name, so it is removed with the container. Podman cannot make
 * such a volume. */
static void add_shared_dir(const struct broker *broker, json_t *mounts,
                           const struct spec_mount *mount)
{
	const char *source = broker->options->mounts[mount->source];
	json_t *volume, *config, *driver, *options;

	if (broker->version.is_podman) {
		add_mount(mounts, "bind", source, mount->target, true);
		return;
	}
	options = json_obj();
	json_set(options, "type", json_str("overlay"));
	json_set(options, "device", json_str("overlay"));
	json_set(options, "o",
	         json_format("nosuid,nodev,lowerdir=%s:%s", source, broker->options->empty));
	driver = json_obj();
	json_set(driver, "Name", json_str("local"));
	json_set(driver, "Options", options);
	config = json_obj();
	json_set(config, "NoCopy", json_true());
	json_set(config, "DriverConfig", driver);
	volume = json_obj();
	json_set(volume, "Type", json_str("volume"));
	json_set(volume, "Target", json_str(mount->target));
	json_set(volume, "VolumeOptions", config);
	json_push(mounts, volume);
}

static json_t *mounts_json(const struct broker *broker, const struct spec *spec)
{
	json_t *mounts = json_list();
	char name[DOCKER_NAME_SIZE];

	for (size_t i = 0; i < VOLUME_COUNT; i++)
		add_mount(mounts, "volume", volume_name(spec->id, i, name),
		          docker_volumes[i].target, false);
	for (unsigned i = 0; i < spec->mount_count; i++)
		add_shared_dir(broker, mounts, &spec->mounts[i]);
	return mounts;
}

/* Only the container has the label LABEL_EXPIRES: the lifetime of a sandbox may change while it
 * sleeps, and the labels of a volume cannot be changed. */
static json_t *container_labels(const struct broker *broker, const struct spec *spec)
{
	json_t *labels = docker_labels(broker, ROLE_SANDBOX, spec);
	time_t expires = (time_t)spec->expires_s;
	char text[sizeof "2026-01-01T00:00:00Z" + 8];
	struct tm tm;

	if (expires != 0 && gmtime_r(&expires, &tm) != NULL &&
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) != 0)
		json_set(labels, LABEL_EXPIRES, json_str(text));
	return labels;
}

/* Devices are named as the Container Device Interface does: "nvidia.com/gpu=0". The runtime of
 * NVIDIA takes the part behind the "=". */
static int add_gpus(const struct broker *broker, const struct spec *spec, json_t *host,
                    struct error *err)
{
	const struct cdi *gpus = broker->options->gpus;
	json_t *ids, *request;
	bool has_cdi = broker->info.has_cdi;

	if (spec->gpus == 0)
		return 0;
	if (!has_cdi && !broker->info.has_nvidia)
		return error_set(err, ERR_UNSUPPORTED,
		                 "gpu: this Docker has neither devices of the Container Device "
		                 "Interface nor the runtime 'nvidia': leave the argument out, or "
		                 "have the operator set one of them up");
	ids = json_list();
	for (size_t i = 0; gpus != NULL && i < gpus->count; i++) {
		const char *name = gpus->devices[i].name, *last = strrchr(name, '=');

		if ((spec->gpus >> i & 1) != 0)
			json_push(ids, json_str(has_cdi || last == NULL ? name : last + 1));
	}
	request = json_obj();
	json_set(request, "Driver", json_str(has_cdi ? "cdi" : "nvidia"));
	json_set(request, "DeviceIDs", ids);
	if (!has_cdi)
		json_set(request, "Capabilities", json_list_of(json_list_of(json_str("gpu"))));
	json_set(host, "DeviceRequests", json_list_of(request));
	return 0;
}

/* Replaces the daemon's list of masked paths. /sys, which names the machine's devices and mounts,
 * is masked as a whole, except for sandboxes with graphics processors, whose libraries look for
 * their devices there. Podman takes the paths as an option, in addition to its own list. */
static void mask_paths(const struct broker *broker, const struct spec *spec, json_t *host,
                       json_t *security)
{
	static const char *const masked[] = {
#define X(name) "/proc/" name,
		ROOT_MASKED_PROC(X)
#undef X
		        "/sys/firmware",
		"/sys/devices/virtual/powercap",
		"/sys",
	};
	size_t count = ARRAY_LEN(masked) - (spec->gpus != 0 ? 1 : 0);
	AUTO_BUF struct buf option = { 0 };
	json_t *paths = json_list();

	buf_init(&option, MASKS_MAX);
	for (size_t i = 0; i < count; i++) {
		json_push(paths, json_str(masked[i]));
		buf_putf(&option, "%s%s", i == 0 ? "mask=" : ":", masked[i]);
	}
	if (broker->version.is_podman)
		json_push(security, json_str(buf_text(&option)));
	json_set(host, "MaskedPaths", paths);
}

/* Programs expect these directories to be writable. Their files count as the sandbox's memory. */
static json_t *tmpfs_json(void)
{
	json_t *places = json_obj();

	json_set(places, "/run", json_str("rw,nosuid,nodev,noexec,size=1m,mode=1777"));
	json_set(places, "/var/tmp", json_str("rw,nosuid,nodev,exec,size=64m,mode=1777"));
	return places;
}

/* Docker disables IPv6 on the loopback interface of a container without a network, and programs
 * that listen on "localhost" may use ::1. A kernel without IPv6 refuses to start a container with
 * this setting, so it is only set if the daemon's kernel is this one and has IPv6. */
static void add_loopback_ipv6(const struct broker *broker, json_t *host)
{
	static const char setting[] = "net.ipv6.conf.lo.disable_ipv6";

	if (!broker->version.is_podman && broker->options->daemon->is_local &&
	    access("/proc/sys/net/ipv6/conf/lo/disable_ipv6", F_OK) == 0)
		json_set(host, "Sysctls", json_pair(setting, json_str("0")));
}

static json_t *ulimits_json(const struct broker *broker, const struct spec_limits *limits)
{
	json_t *ulimits = json_list();

	/* The agent needs more descriptors than a program, whose limit it sets itself. Docker
	 * containers inherit the daemon's limits, which are high. Podman sets limits of its own
	 * choice, which the kernel refuses if Podman runs in a container itself. */
	if (broker->version.is_podman) {
		add_ulimit(ulimits, "nofile", num_max(limits->files, AGENT_FILES));
		add_ulimit(ulimits, "nproc", num_max(limits->pids, PROCESSES));
	}
	add_ulimit(ulimits, "fsize", spec_file_max(limits));
	/* If core_pattern names a program, the kernel starts it with a limit of 0, but not with a
	 * limit of 1: see core(5). */
	add_ulimit(ulimits, "core", 1);
	return ulimits;
}

/* The confinement that sandboxes and installers have in common. */
static json_t *confined_host_config(const struct broker *broker, const struct spec *spec)
{
	json_t *host = container_limits_json(&spec->limits);
	json_t *security = json_list_of(json_str("no-new-privileges"));

	json_set(host, "CapDrop", json_list_of(json_str("ALL")));
	mask_paths(broker, spec, host, security);
	json_set(host, "SecurityOpt", security);
	json_set(host, "Privileged", json_false());
	json_set(host, "IpcMode", json_str("private"));
	if (broker->info.cgroups == 2)
		json_set(host, "CgroupnsMode", json_str("private"));
	json_set(host, "Ulimits", ulimits_json(broker, &spec->limits));
	json_set_text(host, "Runtime", broker->options->runtime);
	return host;
}

static json_t *sandbox_host_config(const struct broker *broker, const struct spec *spec)
{
	json_t *host = confined_host_config(broker, spec);

	if (!broker->options->writable_root)
		json_set(host, "ReadonlyRootfs", json_true());
	/* "NetworkDisabled" would leave the container without the addresses of localhost in
	 * /etc/hosts. Without "Dns" and "DnsSearch" /etc/resolv.conf would be the host's. */
	json_set(host, "NetworkMode", json_str("none"));
	json_set(host, "Dns", json_list_of(json_str("127.0.0.1")));
	json_set(host, "DnsSearch", json_list_of(json_str(".")));
	json_set(host, "ExtraHosts", json_list_of(json_str(HOST_NAME ":127.0.0.1")));
	json_set(host, "LogConfig", json_pair("Type", json_str("none")));
	json_set(host, "RestartPolicy", json_pair("Name", json_str("no")));
	json_set(host, "Init", json_false());
	json_set(host, "Mounts", mounts_json(broker, spec));
	json_set(host, "Tmpfs", tmpfs_json());
	add_loopback_ipv6(broker, host);
	return host;
}

/* Podman stops a container before it removes it, and PID 1 ignores SIGTERM unless it handles it: so
 * the signal is SIGKILL. Health checks of the image would run as programs beside the agent's;
 * Podman needs a timer of systemd even to be told that there is none. */
static void set_end_and_health(const struct broker *broker, json_t *container)
{
	json_set(container, "StopSignal", json_str("SIGKILL"));
	json_set(container, "StopTimeout", json_int(0));
	if (!broker->version.is_podman)
		json_set(container, "Healthcheck",
		         json_pair("Test", json_list_of(json_str("NONE"))));
}

int container_json(const struct broker *broker, const struct spec *spec, const char *image,
                   json_t **ret, struct error *err)
{
	json_t *host = sandbox_host_config(broker, spec), *all;
	static const char *const attached[] = { "OpenStdin", "StdinOnce", "AttachStdin",
		                                "AttachStdout", "AttachStderr" };

	if (add_gpus(broker, spec, host, err) < 0) {
		json_decref(host);
		return -1;
	}
	all = json_obj();
	json_set(all, "Image", json_str(image));
	json_set(all, "Hostname", json_str(HOST_NAME));
	json_set(all, "User", json_format("%d:%d", SPEC_UID, SPEC_GID));
	json_set(all, "WorkingDir", json_str(SPEC_WORKSPACE));
	json_set(all, "Entrypoint", json_list_of(json_str(DOCKER_AGENT_PATH)));
	json_set(all, "Cmd", json_list_of(json_str("stdio")));
	for (size_t i = 0; i < ARRAY_LEN(attached); i++)
		json_set(all, attached[i], json_true());
	json_set(all, "Tty", json_false());
	set_end_and_health(broker, all);
	json_set(all, "Labels", container_labels(broker, spec));
	json_set(all, "HostConfig", host);
	*ret = all;
	return 0;
}

/* Package managers write files of all users, and change their owners and modes. apt and dpkg call
 * setuid(2) to fetch packages and to run scripts. */
static const char *const installer_capabilities[] = { "CHOWN",  "DAC_OVERRIDE", "FOWNER",
	                                              "FSETID", "SETGID",       "SETUID" };

static json_t *installer_host_config(const struct broker *broker, const struct spec *spec,
                                     const char *network)
{
	json_t *host, *log = json_pair("Type", json_str("json-file"));
	struct spec without_gpus = *spec;

	without_gpus.gpus = 0;
	host = confined_host_config(broker, &without_gpus);
	json_set(host, "CapAdd",
	         many_texts(installer_capabilities, ARRAY_LEN(installer_capabilities)));
	json_set(host, "NetworkMode", json_format("container:%s", network));
	/* install.c reads the reason of a failure from the log. */
	json_set(log, "Config", json_pair("max-size", json_str("64k")));
	json_set(host, "LogConfig", log);
	return host;
}

json_t *installer_json(const struct broker *broker, const struct spec *spec, const char *image,
                       const char *network, const char *script, const char *argument)
{
	const char *const shell[] = { "/bin/sh", "-c" };
	const char *const words[] = { script, "sh", argument };
	json_t *all = json_obj(), *labels = docker_labels(broker, ROLE_INSTALL, NULL);

	json_set(all, "Image", json_str(image));
	json_set(all, "User", json_str("0:0"));
	json_set(all, "WorkingDir", json_str("/"));
	json_set(all, "Entrypoint", many_texts(shell, ARRAY_LEN(shell)));
	json_set(all, "Cmd", many_texts(words, ARRAY_LEN(words)));
	set_end_and_health(broker, all);
	/* The image that is made from the container keeps the label, by which leftovers.c finds
	 * it. */
	json_set(labels, LABEL_AGENT, json_str(broker->agent));
	json_set(all, "Labels", labels);
	json_set(all, "HostConfig", installer_host_config(broker, spec, network));
	return all;
}
