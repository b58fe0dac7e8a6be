// typescript_compile.js - makes a program for Node of a TypeScript file, with the compiler that belongs
// to the command tsc. The arguments are the name or the path of tsc, the file and a directory for the program.
//
// Types are removed and not checked, as the other runners of TypeScript do: tsc itself would not know
// `process` and the modules of Node without the package @types/node, and takes ten times as long.
const fs = require('fs');
const path = require('path');
const { spawnSync } = require('child_process');
const [, name, file, out] = process.argv;
const folders = name.includes('/') ? [''] : process.env.PATH.split(':');
const tsc = folders.map((folder) => path.join(folder, name)).find((each) => fs.existsSync(each));
const library = path.resolve(fs.realpathSync(tsc), '../../lib/typescript.js');

if (!fs.existsSync(library)) { // a compiler that is no program of Node
	const options = ['--target', 'es2022', '--module', 'commonjs', '--esModuleInterop', '--noCheck', '--outDir', out];
	process.exit(spawnSync(tsc, [...options, file], { stdio: 'inherit' }).status ?? 1);
}
const ts = require(library);
const code = fs.readFileSync(file, 'utf8');
const transpile = (module) => ts.transpileModule(code, {
	fileName: file,
	reportDiagnostics: true,
	compilerOptions: { target: ts.ScriptTarget.ES2022, module, esModuleInterop: true },
});

function is_script(text) {
	try {
		new (require('vm').Script)(require('module').wrap(text));
		return true;
	} catch {
		return false;
	}
}

let made = transpile(ts.ModuleKind.CommonJS);
let type = '.js';
for (const { start, messageText } of made.diagnostics) {
	const { line, character } = ts.getLineAndCharacterOfPosition(ts.createSourceFile(file, code, 99), start);
	console.error(`${file}:${line + 1}:${character + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
	process.exitCode = 1;
}
if (!process.exitCode && !is_script(made.outputText)) { // only a module has `await` outside functions
	made = transpile(ts.ModuleKind.ESNext);
	type = '.mjs';
}
fs.mkdirSync(out, { recursive: true });
fs.writeFileSync(path.join(out, path.basename(file, path.extname(file)) + type), made.outputText);
