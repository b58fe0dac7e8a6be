#include "base/cleanup.h"
#include "mcp/content.h"
#include "unit/test.h"

static void check(json_t *block, const char *want)
{
	size_t len;
	AUTO_FREE char *text = json_write(block, &len);

	assert_string_equal(text, want);
	json_decref(block);
}

static void every_type_of_block_is_built(void **state)
{
	check(mcp_text("%d apples", 3), "{\"type\":\"text\",\"text\":\"3 apples\"}");
	check(mcp_text_view(VIEW("a\xff")), "{\"type\":\"text\",\"text\":\"a\xef\xbf\xbd\"}");
	check(mcp_image(VIEW("hi!"), "image/png"),
	      "{\"type\":\"image\",\"data\":\"aGkh\",\"mimeType\":\"image/png\"}");
	check(mcp_audio(VIEW("h"), "audio/wav"),
	      "{\"type\":\"audio\",\"data\":\"aA==\",\"mimeType\":\"audio/wav\"}");
	check(mcp_embedded("u:x", NULL, "t"),
	      "{\"type\":\"resource\",\"resource\":{\"uri\":\"u:x\",\"text\":\"t\"}}");
	check(mcp_embedded_blob("u:x", "a/b", VIEW("h")),
	      "{\"type\":\"resource\",\"resource\":{\"uri\":\"u:x\",\"mimeType\":\"a/b\","
	      "\"blob\":\"aA==\"}}");
	check(mcp_link("u:x", "n", "text/plain"), "{\"type\":\"resource_link\",\"uri\":\"u:x\","
	                                          "\"name\":\"n\",\"mimeType\":\"text/plain\"}");
	check(mcp_message("user", mcp_text("q")),
	      "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"q\"}}");
}

static void old_revisions_get_text_instead_of_new_blocks(void **state)
{
	check(mcp_block_for(MCP_2024_11_05, mcp_audio(VIEW("h"), "audio/wav")),
	      "{\"type\":\"text\",\"text\":\"[audio/wav audio: this protocol revision cannot carry "
	      "it]\"}");
	check(mcp_block_for(MCP_2025_03_26, mcp_link("u:x", "n", NULL)),
	      "{\"type\":\"text\",\"text\":\"n: u:x\"}");
	check(mcp_block_for(MCP_2025_03_26, mcp_audio(VIEW("h"), "audio/wav")),
	      "{\"type\":\"audio\",\"data\":\"aA==\",\"mimeType\":\"audio/wav\"}");
	check(mcp_block_for(MCP_2025_06_18, mcp_link("u:x", "n", NULL)),
	      "{\"type\":\"resource_link\",\"uri\":\"u:x\",\"name\":\"n\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_type_of_block_is_built),
		TEST(old_revisions_get_text_instead_of_new_blocks),
	};

	return RUN_TESTS("mcp/content", tests);
}
