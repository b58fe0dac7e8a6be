/* code_sandbox_text.c - the messages of the profile code-sandbox. Those of its original are
 * Chinese: callers who prefer Chinese get them so, all others in English. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/text/utf8.h"
#include "mcp/call.h"
#include "sandbox/copy/copy.h"
#include "tools/files/copy_work.h"
#include "tools/profiles/code_sandbox.h"

/* {1} and {2} stand for the arguments. */
static const struct {
	const char *english, *chinese;
} texts[] = {
	[TEXT_NO_CONTAINER] = { "there is no container '{1}': call sandbox_initialize",
	                        "容器 '{1}' 不存在：请先调用 sandbox_initialize" },
	[TEXT_NO_WORKSPACE] = { "the container '{1}' has no workspace '{2}'",
	                        "容器 '{1}' 中没有工作区 '{2}'" },
	[TEXT_WORKSPACE_READY] = { "The workspace is ready.{1}", "工作区已就绪。{1}" },
	[TEXT_SANDBOX_READY] = { "The sandbox is ready.{1}", "沙箱已就绪。{1}" },
	[TEXT_NO_IMAGES] = { " The {1} engine does not have the image '{2}': programs come from "
	                     "the machine that the server runs on.",
	                     "{1} 引擎没有镜像 '{2}'：程序来自运行服务器的主机。" },
	[TEXT_OTHER_IMAGE] = { " Programs come from the image '{1}', which the operator of the "
	                       "server has chosen instead of '{2}'.",
	                       "程序来自服务器管理员选择的镜像 '{1}'，而不是 '{2}'。" },
	[TEXT_IMAGE_UNUSED] = { " The image '{1}' is not used: only a sandbox with "
	                        "use_persistent=false has an image of its own.",
	                        "未使用镜像 '{1}'：只有 use_persistent=false 的沙箱才有自己的镜像。" },
	[TEXT_CLEANED] = { "The workspace is empty, and its programs have ended",
	                   "工作区已清空，其中的程序已结束" },
	[TEXT_KEPT] = { "The container is persistent and is kept", "容器是持久化的，予以保留" },
	[TEXT_STOPPED] = { "The container was stopped and removed", "容器已停止并删除" },
	[TEXT_TIMED_OUT] = { "The command was ended after {1} seconds", "命令在 {1} 秒后被终止" },
};
_Static_assert(ARRAY_LEN(texts) == TEXT_COUNT, "one text for each message");

static bool is_chinese(const struct mcp_call *call)
{
	return strcmp(mcp_call_language(call), "zh") == 0;
}

const char *code_sandbox_copied(const struct mcp_call *call, const struct copy_done *done,
                                struct buf *text)
{
	const struct transfer_result *moved = &done->result->moved;

	if (!is_chinese(call))
		return done->summary;
	buf_putf(text, "已将 '%s' 复制到 '%s'：%" PRIu64 " 项，%" PRIu64 " 字节",
	         UTF8_ESCAPED(view_of(done->source), CODE_SANDBOX_TEXT_SIZE),
	         UTF8_ESCAPED(view_of(done->target), CODE_SANDBOX_TEXT_SIZE), moved->entries,
	         moved->bytes);
	if (moved->skipped != 0)
		buf_putf(text,
		         "；跳过 %" PRIu64
		         " 项（指向目录之外的链接、设备、套接字、无法读取的文件），第一项是 "
		         "'%s'",
		         moved->skipped, moved->first_skipped);
	copy_add_notes(done->result, text);
	return buf_text(text);
}

const char *code_sandbox_text(const struct mcp_call *call, enum code_sandbox_message message,
                              const char *first, const char *second,
                              char out[CODE_SANDBOX_TEXT_SIZE])
{
	const char *text = is_chinese(call) ? texts[message].chinese : texts[message].english;
	size_t used = 0;

	while (*text != '\0' && used < CODE_SANDBOX_TEXT_SIZE) {
		const size_t len = strcspn(text, "{");
		const char *argument = text[len] == '\0'      ? ""
		                       : text[len + 1] == '1' ? first
		                                              : second;

		used += (size_t)snprintf(out + used, CODE_SANDBOX_TEXT_SIZE - used, "%.*s%s",
		                         (int)len, text, argument);
		text += len + (text[len] != '\0' ? strlen("{1}") : 0);
	}
	return out;
}
