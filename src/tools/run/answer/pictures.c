#include "tools/run/answer/pictures.h"

#include <string.h>

#include "base/error.h"
#include "mcp/content.h"
#include "sandbox/channel/files.h"
#include "sandbox/sandbox.h"

enum {
	PICTURES_MAX = 8,
	/* Of all pictures together: some clients reject answers of more than 1 MiB, and Base64 adds
	 * a third. */
	ALL_BYTES = 700 * 1024,
	/* A small PNG file may decode to gigabytes in the client. */
	SIDE_MAX = 20000,
	PIXELS_MAX = 100 * 1000 * 1000,
};

static void read_next(struct pictures *p);

static uint32_t read_u32(struct view bytes, size_t at)
{
	const unsigned char *b = (const unsigned char *)bytes.ptr + at;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool begins_with(struct view bytes, const char *with, size_t len)
{
	return bytes.len >= len && memcmp(bytes.ptr, with, len) == 0;
}

static bool is_png(struct view bytes)
{
	uint32_t width, height;

	if (!begins_with(bytes, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) || bytes.len < 33)
		return false;
	width = read_u32(bytes, 16);
	height = read_u32(bytes, 20);
	return width >= 1 && height >= 1 && width <= SIDE_MAX && height <= SIDE_MAX &&
	       (uint64_t)width * height <= PIXELS_MAX;
}

bool pictures_is_valid(const char *mime, struct view bytes)
{
	if (strcmp(mime, "image/png") == 0)
		return is_png(bytes);
	if (strcmp(mime, "image/jpeg") == 0)
		return begins_with(bytes, "\xff\xd8\xff", 3);
	if (strcmp(mime, "image/gif") == 0)
		return begins_with(bytes, "GIF87a", 6) || begins_with(bytes, "GIF89a", 6);
	return strcmp(mime, "image/webp") == 0 && bytes.len >= 16 &&
	       begins_with(bytes, "RIFF", 4) && memcmp(bytes.ptr + 8, "WEBP", 4) == 0;
}

bool pictures_is_picture(const struct process_display *display)
{
	static const char *const mimes[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };

	for (size_t i = 0; i < ARRAY_LEN(mimes); i++)
		if (strcmp(display->mime, mimes[i]) == 0)
			return display->path != NULL;
	return false;
}

bool pictures_has_any(struct process *process)
{
	struct process_state state;

	process_state(process, &state);
	for (size_t i = 0; i < state.display_count; i++)
		if (pictures_is_picture(&state.displays[i]))
			return true;
	return false;
}

/* Whether the same file was displayed before: it is sent once. */
static bool is_repeated(const struct process_state *state, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (pictures_is_picture(&state->displays[i]) &&
		    strcmp(state->displays[i].path, state->displays[at].path) == 0)
			return true;
	return false;
}

static void on_read(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct pictures *p = ctx;
	struct process_state state;
	const struct process_display *display;

	process_state(p->process, &state);
	display = &state.displays[p->at];
	p->op = NULL;
	if (why != NULL) {
		p->unshown[p->at] = why->kind == ERR_LIMIT ? "not shown: too large"
		                    : why->kind == ERR_NOT_FOUND
		                            ? "not shown: the file is gone"
		                            : "not shown: the file cannot be read";
	} else if ((reply->done.flags & WIRE_DONE_MORE) != 0 || reply->bytes.len > p->left) {
		p->unshown[p->at] = "not shown: too large";
	} else if (!pictures_is_valid(display->mime, reply->bytes)) {
		p->unshown[p->at] = "not shown: the file is no such picture";
	} else {
		json_push(p->blocks, mcp_image(reply->bytes, display->mime));
		p->left -= reply->bytes.len;
		p->count++;
	}
	p->at++;
	read_next(p);
}

/* Returns whether on_read() will be called. */
static bool start_reading(struct pictures *p, const struct process_display *display)
{
	struct channel *channel = sandbox_channel(p->sandbox);
	uint64_t max = p->max < p->left ? p->max : p->left;
	struct wire_message request = { .type = WIRE_READ,
		                        .read = { .unit = WIRE_UNIT_BYTES,
		                                  .count = max,
		                                  .max = max,
		                                  .path = view_of(display->path) } };
	struct error err;

	if (channel != NULL && files_start(channel, &request, (struct view){ 0 }, (size_t)max,
	                                   on_read, p, &p->op, &err) == 0)
		return true;
	p->unshown[p->at] = "not shown: the sandbox has ended";
	return false;
}

static void read_next(struct pictures *p)
{
	struct process_state state;

	process_state(p->process, &state);
	for (; p->at < state.display_count && p->at < PROCESS_DISPLAYS_MAX; p->at++) {
		const struct process_display *display = &state.displays[p->at];

		if (!pictures_is_picture(display))
			continue;
		if (is_repeated(&state, p->at))
			p->unshown[p->at] = "see above";
		else if (p->count >= PICTURES_MAX || p->left == 0)
			p->unshown[p->at] = "not shown: there are too many; read_file shows it";
		else if (start_reading(p, display))
			return;
	}
	p->fn(p->ctx);
}

void pictures_start(struct pictures *p, struct sandbox *sandbox, struct process *process,
                    uint64_t max, void (*fn)(void *ctx), void *ctx)
{
	*p = (struct pictures){ .sandbox = sandbox,
		                .process = process,
		                .max = max,
		                .left = max > ALL_BYTES ? max : ALL_BYTES,
		                .blocks = json_list(),
		                .fn = fn,
		                .ctx = ctx };
	read_next(p);
}

void pictures_done(struct pictures *p)
{
	if (p->op != NULL)
		files_cancel(p->op);
	json_decref(p->blocks);
	p->op = NULL;
	p->blocks = NULL;
}
