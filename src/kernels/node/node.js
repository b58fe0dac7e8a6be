// node.js - the Node kernel: Node's side of the protocol in sandbox/interpreter/kernel_wire.h.
//
// The loader (kernel_node.c) evaluates the text that it read from descriptor 3. node_image.S joins
// the files node*.js, each of which is one function. A process that waits for a fresh run becomes
// that run: nothing of the kernel is then on its stack, or in its globals except the function that
// tells the last value (node_value.js). The process of a session continues in node_session.js.
//
// The kernel must work in Node 18.
(dynamic_import, run_session, make_display, replace_imports, make_remove_types, make_tell_value) => {
	'use strict';
	const fs = require('fs');
	const os = require('os');
	const path = require('path');
	const url = require('url');
	const Module = require('module');
	const util = require('util');
	const vm = require('vm');
	const EventEmitter = require('events');
	const session = globalThis.__belljar_session; // 'javascript' or 'typescript'; undefined: a fresh run
	delete globalThis.__belljar_session;
	const strips_types = process.execArgv.includes('--experimental-strip-types');
	// Node before 22.6 gets the word `typescript` behind the loader: the package removes the types.
	const is_typescript = session === 'typescript' || strips_types || process.argv[1] === 'typescript';

	const CHANNEL = 3;
	const VALUE_MAX = 60 * 1024; // characters of a value as text: the server cuts further, and says so

	// Sleeps for 2 ms without returning to the event loop.
	function sleep_briefly() {
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
	}

	function write_all(fd, bytes) {
		for (let at = 0; at < bytes.length;) {
			try {
				at += fs.writeSync(fd, bytes, at);
			} catch (error) {
				if (error.code !== 'EAGAIN')
					throw error;
				sleep_briefly();
			}
		}
	}

	function send_frame(type, ...fields) {
		const parts = [Buffer.alloc(5)];
		for (const field of fields) {
			const bytes = Buffer.from(String(field));
			const length = Buffer.alloc(4);
			length.writeUInt32LE(bytes.length);
			parts.push(length, bytes);
		}
		const frame = Buffer.concat(parts);
		frame[0] = type.charCodeAt(0);
		frame.writeUInt32LE(frame.length - 5, 1);
		try {
			write_all(CHANNEL, frame);
		} catch {
			process.reallyExit(1); // the server has closed the socket
		}
	}

	function decode_run(body) {
		let at = 0;
		const bytes = () => {
			const start = at + 4;
			at = start + body.readUInt32LE(at);
			return body.subarray(start, at);
		};
		const text = () => bytes().toString();
		const list = () => Array.from({ length: Number(text()) }, text);
		return {
			is_cell: text() === 'cell', name: text(), cwd: text(), code: text(),
			has_stdin: text() === '1', stdin: bytes(),
			pixels: Number(text()), bytes: Number(text()), args: list(), env: list(),
		};
	}

	// Replaces descriptor 0 by a file with these bytes, whose name is removed at once.
	function set_stdin(bytes, directory) {
		let name = '/dev/null';
		if (bytes.length) {
			name = path.join(directory, `.stdin-${process.pid}`);
			fs.writeFileSync(name, bytes, { mode: 0o600, flag: 'wx' });
		}
		fs.closeSync(0);
		fs.openSync(name, 'r');
		if (bytes.length)
			fs.unlinkSync(name);
	}

	function split_env(line) {
		const at = line.indexOf('=');
		return [line.slice(0, at), line.slice(at + 1)];
	}

	// --- a fresh run

	function read_sync(length) {
		const bytes = Buffer.alloc(length);
		for (let at = 0; at < length;) {
			const got = fs.readSync(CHANNEL, bytes, at, length - at, null);
			if (!got)
				process.reallyExit(0); // the server has closed the socket
			at += got;
		}
		return bytes;
	}

	// Whether the code is an ES module. Newer versions of Node find out by themselves, but print a
	// warning on stderr.
	function is_module(code) {
		const names = ['exports', 'require', 'module', '__filename', '__dirname'];
		const typical = /^Cannot use (import statement|'import\.meta')|^Unexpected token 'export'/;
		const maybe = new RegExp('^await is only valid|^Unexpected reserved word'
			+ `|^Identifier '(${names.join('|')})' has already`);
		const compile = (text) => {
			try {
				vm.compileFunction(text, names);
				return '';
			} catch (error) {
				return error.name === 'SyntaxError' ? error.message : '';
			}
		};
		code = code.replace(/^#!.*/, '');
		const message = compile(code);
		if (typical.test(message))
			return true;
		if (!maybe.test(message))
			return false;
		const inside = compile(`(async () => {${code}\n})`);
		return !inside || typical.test(inside);
	}

	// Makes require() look in the working directory too, behind the directory of the file.
	function resolve_in_cwd(directory, cwd) {
		const paths_of = Module._nodeModulePaths;
		Module._nodeModulePaths = function (from) {
			const paths = paths_of.call(Module, from);
			if (from !== directory)
				return paths;
			return [...new Set([...paths_of.call(Module, cwd), ...paths])];
		};
		const lookup = Module._resolveLookupPaths;
		Module._resolveLookupPaths = function (request, parent) {
			const paths = lookup.call(Module, request, parent);
			const is_relative = /^\.\.?(\/|$)/.test(request);
			return paths && is_relative && parent?.path === directory ? [...paths, cwd] : paths;
		};
	}

	function link(target, file) {
		try {
			if (fs.existsSync(target))
				fs.symlinkSync(target, file);
		} catch {
			// A file of this name exists.
		}
	}

	// Links to each package of a directory. Those with a scope, "@scope/name", are one level deeper.
	function link_packages(from, to) {
		fs.mkdirSync(to, { recursive: true });
		for (const name of fs.readdirSync(from))
			if (name.startsWith('@'))
				link_packages(path.join(from, name), path.join(to, name));
			else
				link(path.join(from, name), path.join(to, name));
	}

	// The directory of packages in which install_packages has put one, if there is any.
	function find_shared_modules(name = '.') {
		return (process.env.NODE_PATH ?? '').split(path.delimiter).find((each) => each && fs.existsSync(path.join(each, name)));
	}

	// Makes import find packages. Unlike require() it ignores NODE_PATH, so the packages there are linked
	// too if the project lacks one that the code names.
	function link_modules(directory, cwd, code) {
		const to = path.join(directory, 'node_modules');
		const own = Module._nodeModulePaths(cwd).find((each) => fs.existsSync(each));
		const shared = find_shared_modules();
		const names = [...code.matchAll(/\b(?:from|import)\s*\(?\s*(['"])((?:@[^'"/\n]+\/)?[^@./'":\n][^'"/:\n]*)/g)];
		if (!own || !shared || names.every((found) => fs.existsSync(path.join(own, found[2]))))
			return link(own ?? shared ?? '', to);
		link_packages(own, to);
		link_packages(shared, to);
	}

	// Makes import find files of the working directory, by symbolic links to them beside the code:
	// not every version of Node has a hook for import.
	function link_from_cwd(directory, cwd, code) {
		for (const found of code.matchAll(/\b(?:from|import)\s*\(?\s*(['"])\.\/([^'"/\n]+)/g))
			link(path.join(cwd, found[2]), path.join(directory, found[2]));
		link_modules(directory, cwd, code);
	}

	// Imports for a cell. It is no file beside which import would find packages, so those of the working
	// directory and of NODE_PATH are imported by a module beside a link to them.
	const importers = new Map(); // by directory of packages
	function import_for_cell(name, options) {
		const found = /^(?:@[^/]+\/)?[^@./:#][^/:]*(?=\/|$)/.exec(name)?.[0];
		if (!found || Module.isBuiltin(name))
			return dynamic_import(name, options);
		const modules = Module._nodeModulePaths(process.cwd()).find((each) => fs.existsSync(path.join(each, found)))
			?? find_shared_modules(found);
		if (!modules)
			return dynamic_import(name, options);
		if (!importers.has(modules)) {
			const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'belljar-import-'));
			const file = path.join(directory, 'import.mjs');
			fs.symlinkSync(modules, path.join(directory, 'node_modules'));
			fs.writeFileSync(file, 'export default (name, options) => import(name, options);\n');
			importers.set(modules, dynamic_import(url.pathToFileURL(file).href));
		}
		return importers.get(modules).then((module) => module.default(name, options));
	}

	// Removes what `node -e` adds to the globals and `node main.js` does not.
	function remove_eval_globals() {
		for (const name of Module.builtinModules) {
			const was = Object.getOwnPropertyDescriptor(globalThis, name);
			if (was?.get && !was.enumerable && name !== 'process')
				delete globalThis[name];
		}
		for (const name of Object.getOwnPropertyNames(globalThis))
			if (name.startsWith('node:'))
				delete globalThis[name];
		for (const name of ['__filename', '__dirname', 'module', 'exports', 'require'])
			delete globalThis[name];
		delete process._eval;
		process.execArgv = strips_types ? process.execArgv.slice(0, 2) : []; // without -e and the loader
	}

	// Promises and what a program only starts (servers, timers, streams) are no results.
	function is_result(value) {
		if (value === undefined || typeof value?.then === 'function' || typeof value?.hasRef === 'function')
			return false;
		return !(value instanceof EventEmitter);
	}

	function show_value({ '': value }) {
		delete globalThis.__last_value;
		try {
			if (!is_result(value))
				return;
			const text = util.inspect(value);
			const more = text.length > VALUE_MAX ? `\n... (${text.length - VALUE_MAX} characters more)` : '';
			send_frame('v', 'text/plain', text.slice(0, VALUE_MAX) + more, '');
		} catch {
			// The value cannot be shown.
		} finally {
			fs.closeSync(CHANNEL);
		}
	}

	// Has the main program compiled from another text than that of its file, which workers and forked
	// processes execute again. The frame of the loader below stays on the program's stack, and its file
	// name makes it one of Node's own.
	const replace_loader = vm.runInThisContext(`(extensions, type, original, compile) => {
		extensions[type] = function (module, filename) {
			extensions[type] = original;
			const main = compile(module, filename);
			Reflect.apply(main.body, module.exports, main.args);
		};
	}`, { filename: 'node:internal/modules/cjs/loader' });

	function replace_main(text, names) {
		const type = is_typescript ? '.ts' : '.js';
		replace_loader(Module._extensions, type, Module._extensions[type], (module, filename) => ({
			body: vm.compileFunction(text, names, { filename, lineOffset: -1 }),
			args: [module.exports, Module.createRequire(filename), module, filename, path.dirname(filename), show_value],
		}));
	}

	// Makes the program tell its last value, if it has one. Until then it has the channel, over which it
	// can send nothing that ends the run. Returns the text of the program's file.
	function prepare_value(code, is_module) {
		const { names, tell_value } = make_tell_value(replace_imports);
		// import() does not work in code that is compiled by vm.
		const text = is_module || !/\bimport\b/.test(code) ? tell_value(code, is_module) : null;
		if (text === null)
			fs.closeSync(CHANNEL);
		else if (is_module)
			Object.defineProperty(globalThis, '__last_value', { configurable: true, value: show_value });
		else
			replace_main(text, names);
		return is_module && text !== null ? text : code;
	}

	// The types of a fresh run are removed before its last value is looked for. What cannot be
	// removed here is left to Node, which reports why, if it knows TypeScript.
	function remove_types(code) {
		if (!is_typescript)
			return code;
		try {
			return make_remove_types()(code);
		} catch (error) {
			if (strips_types)
				return code;
			write_all(2, Buffer.from(`main.ts: ${error.name}: ${error.message}\n`));
			return process.reallyExit(1);
		}
	}

	function run_fresh() {
		const header = read_sync(5);
		const run = decode_run(read_sync(header.readUInt32LE(1)));
		const directory = path.resolve(run.name);
		run.code = remove_types(run.code);
		const is_esm = is_module(run.code);
		// Node that does not know TypeScript takes main.ts for CommonJS, and cannot import main.mts.
		const type = is_typescript && (strips_types || !is_esm) ? 'ts' : 'js';
		const file = path.join(directory, is_esm ? `main.m${type}` : `main.${type}`);
		fs.mkdirSync(path.dirname(directory), { recursive: true });
		fs.mkdirSync(directory, { mode: 0o700 });
		fs.writeFileSync(file, prepare_value(run.code, is_esm), { mode: 0o600 });
		set_stdin(run.has_stdin ? run.stdin : Buffer.alloc(0), directory);
		for (const [name, value] of run.env.map(split_env))
			process.env[name] = value;
		if (run.cwd)
			process.chdir(run.cwd);
		const cwd = process.cwd();
		if (is_esm)
			link_from_cwd(directory, cwd, run.code);
		else
			resolve_in_cwd(directory, cwd);
		process.argv = [process.execPath, file, ...run.args];
		setImmediate(remove_eval_globals); // -e still adds some after this code has returned
		// Code is a module because it awaits at its top level, and calls require() all the same.
		if (is_esm && /\brequire\s*\(/.test(run.code))
			setImmediate(() => (globalThis.require = Module.createRequire(path.join(cwd, 'main.js'))));
		setImmediate(Module.runMain, file);
	}

	if (session) {
		const to_javascript = is_typescript ? make_remove_types() : (code) => code;
		run_session({
			dynamic_import: import_for_cell, make_display, replace_imports, to_javascript, send_frame, write_all, decode_run,
			set_stdin, split_env,
		});
	} else {
		send_frame('r', process.versions.node);
		run_fresh();
	}
}
