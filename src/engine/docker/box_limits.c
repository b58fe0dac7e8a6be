/* box_limits.c - changes of the limits of a sandbox that is awake (see box.h). */
#include <stdlib.h>

#include "base/mem.h"
#include "engine/docker/box.h"

struct limit_change {
	struct broker *broker;
	uint64_t number;
	struct spec_limits limits;
};

static void on_limits_set(void *ctx, const struct api_answer *answer)
{
	struct limit_change *change = ctx;
	struct box *box = box_find(change->broker, change->number);
	struct engine_reply reply = { .kind = REPLY_LIMITED,
		                      .number = change->number,
		                      .failed = answer->why != NULL };

	if (answer->why != NULL)
		reply.err = *answer->why;
	if (box != NULL) {
		box->is_limiting = false;
		if (answer->why == NULL)
			box->spec.limits = change->limits;
	}
	replies_add(&change->broker->replies, &reply);
	broker_flush(change->broker);
	free(change);
}

static int check_limits(struct broker *broker, const struct box *box,
                        const struct spec_limits *wanted, struct spec *spec, struct error *err)
{
	if (box == NULL || !box->is_started || box->is_killed || box->is_removing ||
	    box->is_limiting)
		return error_set(err, ERR_NOT_FOUND, "the sandbox is not awake");
	*spec = box->spec;
	spec->limits.memory = wanted->memory;
	spec->limits.cpu = wanted->cpu;
	spec->limits.pids = wanted->pids;
	spec->limits.disk = wanted->disk;
	if (spec_check(spec, err) < 0 ||
	    spec_check_ceilings(spec, &broker->options->ceilings, spec->gpus, err) < 0)
		return -1;
	if (broker->has_quota && spec->limits.disk != box->spec.limits.disk)
		return error_set(err, ERR_UNSUPPORTED,
		                 "disk: the size of a volume of Docker cannot be changed: create "
		                 "another sandbox with that much disk");
	return 0;
}

void box_limit(struct broker *broker, const struct engine_request *request)
{
	struct box *box = box_find(broker, request->number);
	struct limit_change *change;
	struct spec spec;
	struct error err;

	if (check_limits(broker, box, &request->spec.limits, &spec, &err) < 0) {
		replies_add_failure(&broker->replies, REPLY_LIMITED, request->number, &err);
		return;
	}
	change = mem_new(sizeof *change);
	*change = (struct limit_change){ broker, request->number, spec.limits };
	box->is_limiting = true;
	api_send(broker, "POST", container_limits_json(&spec.limits), on_limits_set, change,
	         "/containers/%s/update", box->container);
}
