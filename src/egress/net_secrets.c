#include "egress/net_secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text/base64.h"

/* --- reading --- */

/* Prefixes of tokens of known kinds. Programs check the prefix before they use a token. */
static const char *const prefixes[] = {
	"github_pat_", "ghp_", "gho_",  "ghs_",  "glpat-", "sk-ant-", "sk-proj-",
	"sk-",         "hf_",  "xoxb-", "xoxp-", "npm_",   "pypi-",   "AKIA",
};

static size_t prefix_length(const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(value, prefixes[i], strlen(prefixes[i])) == 0)
			return strlen(prefixes[i]);
	return 0;
}

/* The placeholder has the form of the value, because programs check it: the length, a known prefix,
 * and for each letter and digit a random one of its kind. Letters only from a to f and A to F in a
 * value that has no others, which is hexadecimal. */
static void make_placeholder(struct net_secret *secret)
{
	size_t from = prefix_length(secret->value), len = strlen(secret->value);
	bool is_hex = secret->value[strspn(secret->value, "0123456789abcdefABCDEF")] == '\0';
	unsigned char bytes[NET_SECRET_MAX];

	random_bytes(bytes, len);
	memcpy(secret->placeholder, secret->value, len + 1);
	for (size_t i = from; i < len; i++) {
		unsigned char c = (unsigned char)secret->value[i];

		if (isdigit(c))
			secret->placeholder[i] = (char)('0' + bytes[i] % 10);
		else if (islower(c))
			secret->placeholder[i] = (char)('a' + bytes[i] % (is_hex ? 6 : 26));
		else if (isupper(c))
			secret->placeholder[i] = (char)('A' + bytes[i] % (is_hex ? 6 : 26));
	}
}

static int read_name(struct view text, char out[NET_SECRET_NAME_MAX + 1], struct error *err)
{
	if (text.len == 0 || text.len > NET_SECRET_NAME_MAX || !view_has_only(text, "_") ||
	    isdigit((unsigned char)text.ptr[0]))
		return error_set(err, ERR_INVALID,
		                 "expected NAME@HOST or NAME=VALUE@HOST, with a NAME of letters, "
		                 "digits and _");
	memcpy(out, text.ptr, text.len);
	out[text.len] = '\0';
	return 0;
}

/* A value becomes a part of a header field, so it has printable ASCII characters only. */
static int read_value(struct net_secret *secret, struct view value, struct error *err)
{
	if (value.len < NET_SECRET_MIN || value.len > NET_SECRET_MAX)
		return error_set(err, ERR_LIMIT, "the value of %s has %zu bytes, not %d to %d",
		                 secret->name, value.len, NET_SECRET_MIN, NET_SECRET_MAX);
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] <= ' ' || value.ptr[i] > '~')
			return error_set(err, ERR_INVALID,
			                 "the value of %s has a space or a character that is not "
			                 "ASCII",
			                 secret->name);
	memcpy(secret->value, value.ptr, value.len);
	secret->value[value.len] = '\0';
	make_placeholder(secret);
	/* A value without letters and digits cannot be told from its placeholder. */
	if (strcmp(secret->value, secret->placeholder) == 0)
		return error_set(err, ERR_INVALID, "the value of %s has too few letters and digits",
		                 secret->name);
	return 0;
}

/* The longest value first: a shorter one may be a part of it. */
static void sort_last(struct net_secrets *secrets)
{
	for (size_t i = secrets->count - 1; i > 0; i--) {
		struct net_secret *before = &secrets->items[i - 1], *at = &secrets->items[i], copy;

		if (strlen(before->value) >= strlen(at->value))
			return;
		copy = *before;
		*before = *at;
		*at = copy;
	}
}

int net_secrets_add(struct net_secrets *secrets, struct view text, struct error *err)
{
	static struct host_rules rules; /* large; the program has one thread */
	const char *at = text.len != 0 ? memrchr(text.ptr, '@', text.len) : NULL;
	const char *equals = at != NULL ? memchr(text.ptr, '=', (size_t)(at - text.ptr)) : NULL;
	struct net_secret *secret = &secrets->items[secrets->count];
	struct view value;

	if (secrets->count == NET_SECRETS_MAX)
		return error_set(err, ERR_LIMIT, "more than %d secrets", NET_SECRETS_MAX);
	*secret = (struct net_secret){ 0 };
	if (at == NULL)
		return error_set(err, ERR_INVALID,
		                 "expected NAME@HOST or NAME=VALUE@HOST: there is no @");
	if (read_name(
	            (struct view){ text.ptr, (size_t)((equals != NULL ? equals : at) - text.ptr) },
	            secret->name, err) < 0)
		return -1;
	if (equals != NULL) {
		value = (struct view){ equals + 1, (size_t)(at - equals) - 1 };
	} else {
		const char *own = getenv(secret->name);

		if (own == NULL)
			return error_set(err, ERR_INVALID,
			                 "the variable %s is not set: set it before belljar "
			                 "starts, or write %s=VALUE@HOST",
			                 secret->name, secret->name);
		value = view_of(own);
	}
	rules.count = 0;
	if (read_value(secret, value, err) < 0 ||
	    host_rules_add(&rules, (struct view){ at + 1, text.len - (size_t)(at + 1 - text.ptr) },
	                   HOST_RULES_OPERATOR, err) < 0)
		return -1;
	if (rules.count == 0)
		return error_set(err, ERR_INVALID, "%s: there is no host behind the @",
		                 secret->name);
	secret->rule = rules.items[0];
	if (secret->rule.is_any)
		return error_set(err, ERR_INVALID, "%s: a secret is for one host, not for all",
		                 secret->name);
	secrets->count++;
	sort_last(secrets);
	return 0;
}

int net_secrets_read(struct net_secrets *secrets, const char *list, char separator,
                     struct error *err)
{
	struct view rest = view_of(list != NULL ? list : "");

	while (rest.len != 0) {
		struct view item = view_trim(view_cut(&rest, separator));

		if (item.len != 0 && !(separator == '\n' && item.ptr[0] == '#') &&
		    net_secrets_add(secrets, item, err) < 0)
			return -1;
	}
	return 0;
}

/* --- requests --- */

static bool is_for(const struct net_secret *secret, const struct net_host *host, uint16_t port)
{
	static struct host_rules rules; /* large; the program has one thread */

	rules.count = 1;
	rules.items[0] = secret->rule;
	return host_rules_match(&rules, host, port);
}

bool net_secrets_has(const struct net_secrets *secrets, const struct net_host *host, uint16_t port)
{
	for (size_t i = 0; secrets != NULL && i < secrets->count; i++)
		if (port != 443 && is_for(&secrets->items[i], host, port))
			return true;
	return false;
}

/* A rule "HOST:*" stands for port 443 only: on another port it may be meant for ssh and other
 * protocols without TLS. */
bool net_secrets_has_tls(const struct net_secrets *secrets, const struct net_host *host,
                         uint16_t port)
{
	for (size_t i = 0; secrets != NULL && i < secrets->count; i++) {
		const struct net_secret *secret = &secrets->items[i];

		if (is_for(secret, host, port) && port != 80 &&
		    (port == 443 || (!secret->rule.is_any_port && secret->rule.port == port)))
			return true;
	}
	return false;
}

/* Replaces in place: both texts have the same length. */
static void replace_all(char *text, size_t len, const char *from, const char *to)
{
	size_t size = strlen(from);
	char *found;

	while ((found = memmem(text, len, from, size)) != NULL) {
		memcpy(found, to, size);
		len -= (size_t)(found + size - text);
		text = found + size;
	}
}

struct insertion {
	const struct net_secrets *secrets;
	const struct net_host *host;
	uint16_t port;
	struct net_secret_mask *mask;
};

static void insert_values(const struct insertion *to, char *text, size_t len)
{
	for (size_t i = 0; i < to->secrets->count; i++) {
		const struct net_secret *secret = &to->secrets->items[i];

		if (is_for(secret, to->host, to->port))
			replace_all(text, len, secret->placeholder, secret->value);
	}
}

static bool is_field(struct view line, const char *name)
{
	size_t len = strlen(name);

	return line.len > len && line.ptr[len] == ':' && strncasecmp(line.ptr, name, len) == 0;
}

/* The mask replaces the new text in the answer by the old one. A host may repeat it without the
 * padding. */
static int note_basic(struct net_secret_mask *mask, struct view shown, const char *coded,
                      struct error *err)
{
	size_t len = strcspn(coded, "=");

	if (mask->basic_len != 0)
		return error_set(err, ERR_SYNTAX, "Authorization is given twice with a secret");
	if (len > NET_BASIC_MAX)
		return error_set(err, ERR_LIMIT,
		                 "Basic credentials with a secret have more than %d bytes",
		                 NET_BASIC_MAX);
	memcpy(mask->basic, coded, len);
	memcpy(mask->shown, shown.ptr, len);
	mask->basic_len = len;
	return 0;
}

/* "Authorization: Basic ..." holds a name and a password in Base64, as git and curl send them. The
 * text is replaced in place: Base64 of the same length has the same length. */
static int insert_basic(const struct insertion *to, char *line, size_t len, struct error *err)
{
	static const char scheme[] = "basic ";
	AUTO_FREE char *plain = NULL, *before = NULL, *coded = NULL;
	size_t plain_len;
	char *value = memchr(line, ':', len);
	struct view text;
	struct error ignored;

	if (value == NULL || !is_field((struct view){ line, len }, "authorization"))
		return 0;
	text = view_trim((struct view){ value + 1, len - (size_t)(value + 1 - line) });
	if (text.len < sizeof scheme || strncasecmp(text.ptr, scheme, sizeof scheme - 1) != 0)
		return 0;
	text = view_trim(
	        (struct view){ text.ptr + sizeof scheme - 1, text.len - (sizeof scheme - 1) });
	if (base64_decode(text, &plain, &plain_len, &ignored) < 0)
		return 0;
	before = base64_encode((struct view){ plain, plain_len });
	insert_values(to, plain, plain_len);
	coded = base64_encode((struct view){ plain, plain_len });
	if (strlen(coded) != text.len || strcmp(before, coded) == 0)
		return 0;
	if (note_basic(to->mask, text, coded, err) < 0)
		return -1;
	memcpy(line + (text.ptr - line), coded, text.len);
	return 0;
}

/* Fields that hold credentials only. A host stores the values of other fields (x-amz-meta-NAME,
 * User-Agent, Content-Type), and a program could read them back over TLS, where nothing is
 * masked. */
static bool is_credential(struct view line)
{
	static const char *const names[] = {
		"authorization", "x-api-key",    "api-key",      "x-goog-api-key", "private-token",
		"job-token",     "deploy-token", "x-auth-token", "x-access-token", "x-vault-token",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (is_field(line, names[i]))
			return true;
	return false;
}

int net_secrets_insert(const struct net_secrets *secrets, const struct net_host *host,
                       uint16_t port, struct view head, struct net_secret_mask *mask,
                       struct buf *out, struct error *err)
{
	const struct insertion to = { secrets, host, port, mask };
	/* With these fields a program could have the host answer in a form in which the mask does
	 * not find the value: compressed, in UTF-16, as a difference (A-IM) or in parts. */
	static const char *const removed[] = { "accept-encoding", "accept-charset", "a-im",
		                               "range",           "if-range",       "te",
		                               "expect" };

	while (head.len != 0) {
		const char *end = memchr(head.ptr, '\n', head.len);
		struct view line = { head.ptr,
			             end != NULL ? (size_t)(end - head.ptr) + 1 : head.len };
		size_t start = out->len;
		bool is_removed = false;

		head.ptr += line.len;
		head.len -= line.len;
		for (size_t i = 0; i < ARRAY_LEN(removed); i++)
			is_removed = is_removed || is_field(line, removed[i]);
		if (is_removed)
			continue;
		if (buf_add(out, line, err) < 0)
			return -1;
		if (!is_credential(line))
			continue;
		insert_values(&to, out->ptr + start, line.len);
		if (insert_basic(&to, out->ptr + start, line.len, err) < 0)
			return -1;
	}
	return 0;
}

/* --- answers --- */

struct pattern {
	const char *from, *to; /* of the same length */
	size_t len;
};

static size_t list_patterns(const struct net_secrets *secrets, const struct net_secret_mask *mask,
                            struct pattern out[NET_SECRETS_MAX + 1])
{
	size_t count = 0;

	for (size_t i = 0; i < secrets->count; i++)
		out[count++] = (struct pattern){ secrets->items[i].value,
			                         secrets->items[i].placeholder,
			                         strlen(secrets->items[i].value) };
	if (mask->basic_len != 0)
		out[count++] = (struct pattern){ mask->basic, mask->shown, mask->basic_len };
	return count;
}

/* The longest pattern that the text begins with; a shorter one may be a part of it. */
static const struct pattern *find_pattern(const struct pattern *patterns, size_t count,
                                          struct view text)
{
	const struct pattern *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (patterns[i].from[0] == text.ptr[0] && patterns[i].len <= text.len &&
		    (found == NULL || patterns[i].len > found->len) &&
		    memcmp(patterns[i].from, text.ptr, patterns[i].len) == 0)
			found = &patterns[i];
	return found;
}

/* The number of bytes that are held back does not depend on the bytes: a program that sees which
 * ones are late could otherwise find a value character by character. */
int net_secrets_mask(const struct net_secrets *secrets, struct net_secret_mask *mask,
                     struct view bytes, struct buf *out, struct error *err)
{
	struct pattern patterns[NET_SECRETS_MAX + 1];
	size_t count = list_patterns(secrets, mask, patterns);
	size_t start = out->len, at = mask->done, hold = 0, len;

	if (buf_add(out, (struct view){ mask->held, mask->len }, err) < 0 ||
	    buf_add(out, bytes, err) < 0)
		return -1;
	len = out->len - start;
	if (len == 0)
		return 0;
	for (size_t i = 0; i < count && bytes.len != 0; i++)
		hold = patterns[i].len - 1 > hold ? patterns[i].len - 1 : hold;
	if (hold > len)
		hold = len;
	while (at < len - hold) {
		char *text = out->ptr + start + at;
		const struct pattern *found = find_pattern(patterns, count,
		                                           (struct view){ text, len - at });

		if (found != NULL)
			memcpy(text, found->to, found->len);
		at += found != NULL ? found->len : 1;
	}
	memcpy(mask->held, out->ptr + out->len - hold, hold);
	mask->len = hold;
	mask->done = bytes.len != 0 ? at - (len - hold) : 0;
	buf_truncate(out, out->len - hold);
	return 0;
}
