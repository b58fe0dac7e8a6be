/* kernel_node.c - the Node kernel: its loader. Its text is in node_image.S. */
#include "kernels/kernels.h"

extern const char kernel_node_text[], kernel_node_end[];

/* The braces keep the loader's variables out of the global scope, which is that of the user's
 * code. */
static const char loader[] =
        "{const f=require('fs'),r=(n)=>{const b=Buffer.alloc(n);for(let i=0,k;i<n;i+=k)"
        "if(!(k=f.readSync(3,b,i,n-i,null)))process.exit();return b};"
        "require('vm').runInThisContext(String(r(r(5).readUInt32LE(1))),"
        "{filename:'belljar:kernel'})((s,o)=>import(s,o))}";

static const char *const startup_env[] = { "NODE_OPTIONS",
	                                   "NODE_EXTRA_CA_CERTS",
	                                   "NODE_DEBUG",
	                                   "NODE_ICU_DATA",
	                                   "NODE_NO_WARNINGS",
	                                   "NODE_PENDING",
	                                   "NODE_V8_COVERAGE",
	                                   "NODE_COMPILE_CACHE",
	                                   "NODE_PRESERVE",
	                                   "NODE_REDIRECT",
	                                   "SSL_CERT_",
	                                   "OPENSSL_",
	                                   "LD_",
	                                   "UV_",
	                                   "LANG",
	                                   "LC_",
	                                   "MALLOC_",
	                                   NULL };

const struct kernel_program kernel_node = {
	.language = "javascript",
	.runners = " node ",
	.options = (const char *const[]){ "-e", loader, NULL },
	.text = kernel_node_text,
	.text_end = kernel_node_end,
	.session_prefix = "globalThis.__belljar_session = 'javascript';\n",
	.startup_env = startup_env,
	.is_reusable = false,
};

/* Node removes the types itself. Other runners of TypeScript (tsx, deno) do more than that, and
 * their fresh runs are programs of their own, without a kernel. */
const struct kernel_program kernel_typescript_stripped = {
	.language = "typescript",
	.runners = " node ",
	.options = (const char *const[]){ "--experimental-strip-types", "--no-warnings", "-e",
	                                  loader, NULL },
	.text = kernel_node_text,
	.text_end = kernel_node_end,
	.startup_env = startup_env,
};

/* The package typescript removes the types. The word behind the loader tells node.js so. */
const struct kernel_program kernel_typescript_compiled = {
	.language = "typescript",
	.runners = " node ",
	.options = (const char *const[]){ "-e", loader, "typescript", NULL },
	.text = kernel_node_text,
	.text_end = kernel_node_end,
	.startup_env = startup_env,
};

const struct kernel_program kernel_typescript = {
	.language = "typescript",
	.host = "javascript",
	.runners = " node ",
	.options = (const char *const[]){ "-e", loader, NULL },
	.text = kernel_node_text,
	.text_end = kernel_node_end,
	.session_prefix = "globalThis.__belljar_session = 'typescript';\n",
};
