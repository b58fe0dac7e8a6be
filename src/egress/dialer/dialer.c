#include "egress/dialer/dialer.h"

#include "base/process/helper.h"
#include "egress/dialer/internal.h"

int dialer_start(const struct dialer_config *config, struct dialer *ret, struct error *err)
{
	static struct upstream upstream;
	struct dialer_start start = { config, &upstream };

	if (upstream_read(&upstream, err) < 0)
		return -1;
	return helper_start("dialer", dialer_serve, &start, &ret->pid, &ret->socket, err);
}

int dialer_wait(const struct dialer *dialer, struct error *err)
{
	return dialer->pid != 0 ? helper_wait("dialer", dialer->socket, err) : 0;
}

void dialer_stop(struct dialer *dialer)
{
	helper_stop(&dialer->pid, &dialer->socket);
}
