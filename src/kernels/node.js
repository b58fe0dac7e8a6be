// node.js - Node's side of the conversation in sandbox/kernel_wire.h.
//
// The loader (kernel_node.c) evaluates what it read from descriptor 3: node_image.S puts the files
// node*.js together, each of them one function. A process that waits for a fresh run becomes that
// run: nothing of ours is on its stack or in its globals by then. A session's process goes on in
// node_session.js.
//
// All of it must work in Node 18.
(dynamic_import, run_session, replace_imports) => {
	'use strict';
	const fs = require('fs');
	const path = require('path');
	const Module = require('module');
	const vm = require('vm');
	const is_session = globalThis.__belljar_session === true;
	delete globalThis.__belljar_session;

	const CHANNEL = 3;

	function pause() {
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
	}

	function write_all(fd, bytes) {
		for (let at = 0; at < bytes.length;) {
			try {
				at += fs.writeSync(fd, bytes, at);
			} catch (error) {
				if (error.code !== 'EAGAIN')
					throw error;
				pause();
			}
		}
	}

	function send(type, ...fields) {
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
			process.reallyExit(1); // nobody is there any more
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

	// Descriptor 0 becomes a file with these bytes that has no name any more.
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
				process.reallyExit(0); // nobody wants a run any more
			at += got;
		}
		return bytes;
	}

	// Newer Nodes find out by themselves, but say so on stderr.
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

	// require() looks beside the file, as it would anywhere, and in the working directory.
	function look_in_cwd(directory, cwd) {
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

	// import has no such hook in every Node, but it follows links.
	function link_from_cwd(directory, cwd, code) {
		const link = (name, target) => {
			try {
				if (fs.existsSync(target))
					fs.symlinkSync(target, path.join(directory, name));
			} catch {
				// One is there.
			}
		};
		for (const found of code.matchAll(/\b(?:from|import)\s*\(?\s*(['"])\.\/([^'"/\n]+)/g))
			link(found[2], path.join(cwd, found[2]));
		const modules = Module._nodeModulePaths(cwd).find((each) => fs.existsSync(each));
		if (modules)
			link('node_modules', modules);
	}

	// What `node -e` has and `node main.js` has not.
	function forget_eval() {
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
		process.execArgv = [];
	}

	function run_fresh() {
		const header = read_sync(5);
		const run = decode_run(read_sync(header.readUInt32LE(1)));
		const directory = path.resolve(run.name);
		const file = path.join(directory, is_module(run.code) ? 'main.mjs' : 'main.js');
		fs.mkdirSync(path.dirname(directory), { recursive: true });
		fs.mkdirSync(directory, { mode: 0o700 });
		fs.writeFileSync(file, run.code, { mode: 0o600 });
		set_stdin(run.has_stdin ? run.stdin : Buffer.alloc(0), directory);
		fs.closeSync(CHANNEL);
		for (const [name, value] of run.env.map(split_env))
			process.env[name] = value;
		if (run.cwd)
			process.chdir(run.cwd);
		const cwd = process.cwd();
		if (file.endsWith('.mjs'))
			link_from_cwd(directory, cwd, run.code);
		else
			look_in_cwd(directory, cwd);
		process.argv = [process.execPath, file, ...run.args];
		setImmediate(forget_eval); // -e itself does something behind us
		setImmediate(Module.runMain, file);
	}

	if (is_session) {
		run_session({
			dynamic_import, replace_imports, send, write_all, decode_run, set_stdin, split_env,
		});
	} else {
		send('r', process.versions.node);
		run_fresh();
	}
}
