// node_session.js - sessions: cells run one after the other in one process and share its variables.
//
// Cells are evaluated through the inspector's Runtime.evaluate in its mode for consoles (replMode).
// V8 then keeps const, let and class for later cells and allows to declare them again, awaits at
// the top level, and returns the value of the last expression; anything else would need a parser.
// V8 cannot import in this mode: node_imports.js replaces imports.
//
// SIGINT ends a cell that computes, because the inspector is called from a vm.Script with
// breakOnSigint, and a cell that waits, by ending the wait. A cell that computes after it has
// waited for a timer or for input cannot be interrupted without crashing Node: the server kills
// such a process.
(kernel) => {
	'use strict';
	const { dynamic_import, make_display, replace_imports, to_javascript, send_frame, write_all } = kernel;
	const { decode_run, set_stdin, split_env } = kernel;
	const fs = require('fs');
	const net = require('net');
	const os = require('os');
	const path = require('path');
	const url = require('url');
	const util = require('util');
	const vm = require('vm');
	const { executionAsyncId } = require('async_hooks');
	const { createRequire } = require('module');
	const { promiseHooks } = require('v8');
	const { Session } = require('inspector');
	const inspector = new Session();
	inspector.connect();

	const TEXT_MAX = 16 * 1024; // bytes of a message
	const EXITED = new Error('process.exit() has ended the cell');
	const HOOK = Symbol.for('belljar.hook'); // the global that holds the function a script calls
	const KERNEL = 'belljar:kernel'; // the file name that the loader gives to this text
	const home = process.cwd();
	let cell = null; // the cell that runs
	const waiting = []; // frames that arrived while a cell runs
	let is_interruptible = false; // the code that runs now was called by call_interruptible()

	const { cut_text, display, inspect_value, show_value } = make_display({
		// Between cells the server accepts no SHOWN frame, so the value is printed.
		send_shown(mime, text, file) {
			if (cell)
				send_frame('v', mime, text, file);
			else
				write_all(1, Buffer.from(`${text || file}\n`));
		},
		get_picture_max: () => cell?.run.bytes,
		home,
	});

	function define_property(on, name, what) {
		Object.defineProperty(on, name, { configurable: true, ...what });
	}

	// --- cells

	const guard = new vm.Script(`globalThis[Symbol.for('belljar.hook')]()`, { filename: KERNEL });

	function with_hook(hook, action) {
		define_property(globalThis, HOOK, { value: hook });
		try {
			return action();
		} finally {
			delete globalThis[HOOK];
		}
	}

	// Calls the action, which SIGINT may end at any point. Returns false if SIGINT did.
	function call_interruptible(action) {
		is_interruptible = true;
		try {
			with_hook(() => {
				action();
				process._tickCallback?.(); // a promise that the cell awaits may be settled already
			}, () => guard.runInThisContext({ breakOnSigint: true, displayErrors: false }));
		} catch (error) {
			// Node counts callbacks that began and ended; this call makes the counts equal again.
			process._fatalException(error);
			return error?.code !== 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
		} finally {
			is_interruptible = false;
		}
		return true;
	}

	// The value that a remote object of the inspector stands for.
	function value_of({ objectId, unserializableValue, value }) {
		let result;
		let argument = { value };
		if (objectId)
			argument = { objectId };
		else if (unserializableValue)
			argument = { unserializableValue };
		with_hook((got) => { result = got; }, () => inspector.post('Runtime.callFunctionOn', {
			functionDeclaration: `function (value) { globalThis[Symbol.for('belljar.hook')](value); }`,
			executionContextId: 1, arguments: [argument], silent: true,
		}));
		return result;
	}

	function report_uncaught(error) {
		if (error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' || error === EXITED)
			return;
		write_all(2, Buffer.from(`Uncaught ${cut_text(inspect_value(error), TEXT_MAX)}\n`));
	}

	function send_error(name, message, traceback) {
		cell.code = 1;
		send_frame('e', cut_text(String(name), 256), cut_text(String(message), TEXT_MAX), cut_text(traceback, 4 * TEXT_MAX));
	}

	// The place of a syntax error: the error has no line, but the inspector reports one.
	function syntax_error_place(details) {
		const lines = cell.run.code.split('\n');
		const line = Math.min(details.lineNumber, lines.length - 1);
		const column = Math.min(details.columnNumber, 200);
		const mark = line === details.lineNumber ? `\n${' '.repeat(column)}^` : '';
		return `${cell.label}:${line + 1}\n${lines[line].slice(0, 200)}${mark}\n\n`;
	}

	function report_error(error, details) {
		if (!util.types.isNativeError(error)) {
			const text = inspect_value(error);
			send_error('Uncaught', text, `Uncaught ${text}`);
			return;
		}
		const is_inside = String(error.stack).includes(`${cell.label}:`);
		const is_compiled = error.name !== 'SyntaxError' || is_inside || !details;
		const text = is_compiled ? inspect_value(error) : `${syntax_error_place(details)}SyntaxError: ${error.message}`;
		send_error(error.name, error.message, text);
	}

	let last; // the value of `_` as set by show_last(); after a cell has set `_`, it is left alone

	function show_last(value) {
		if (globalThis._ === last) {
			define_property(globalThis, '_', { value, writable: true });
			last = value;
		}
		show_value(value);
	}

	function finish_cell() {
		const { outcome } = cell;
		if (outcome)
			kept.pop();
		try {
			if (cell.has_exited)
				cell.code = process.exitCode;
			else if (!outcome)
				send_error('Interrupted', 'the cell was interrupted', 'Interrupted: the cell was interrupted');
			else if ('error' in outcome)
				report_error(outcome.error, outcome.details);
			else if (outcome.value !== undefined)
				show_last(outcome.value);
		} catch (error) {
			send_error('Error', `the cell's value cannot be shown: ${inspect_value(error)}`, '');
		}
		inspector.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
		inspector.post('Runtime.discardConsoleEntries');
		cell.restore_env();
		end_cell(cell.code || process.exitCode, 0);
		process.exitCode = undefined;
		setImmediate(next_frame);
	}

	function end_cell(code, is_exit) {
		const used = process.resourceUsage();
		const { usage } = cell;
		cell = null;
		send_frame('x', code & 255, 0, is_exit, used.userCPUTime - usage.userCPUTime,
			used.systemCPUTime - usage.systemCPUTime, used.maxRSS);
	}

	// Sets variables of the environment for one cell. Returns a function that restores them, unless the
	// cell itself has set them to something else.
	function set_cell_env(lines) {
		const changed = lines.map(split_env).map(([name, value]) => {
			const was = process.env[name];
			process.env[name] = value;
			return { name, value, was };
		});
		return () => {
			for (const { name, value, was } of changed.reverse()) {
				if (process.env[name] !== value)
					continue;
				if (was === undefined)
					delete process.env[name];
				else
					process.env[name] = was;
			}
		};
	}

	let stdin = null;
	let is_stdin_used = false;

	function set_cell_stdin(bytes) {
		if (!bytes.length && !is_stdin_used)
			return;
		stdin?.destroy();
		stdin = null;
		set_stdin(bytes, os.tmpdir());
		is_stdin_used = bytes.length > 0;
	}

	let our_require = globalThis.require;
	let required_from = home;

	// Without a directory every require and every path would fail, process.chdir() of the code included.
	function current_directory() {
		try {
			return process.cwd();
		} catch {
			process.chdir(home);
			process.stderr.write(`the working directory was removed: the session is in ${home} now\n`);
			return home;
		}
	}

	function enter_directory(cwd) {
		if (cwd)
			process.chdir(cwd);
		const here = current_directory();
		if (here === required_from || globalThis.require !== our_require)
			return;
		our_require = createRequire(path.join(here, '[cell]'));
		required_from = here;
		globalThis.require = our_require;
	}

	function prepare_run(run) {
		set_cell_stdin(run.has_stdin ? run.stdin : Buffer.alloc(0));
		if (run.args.length)
			process.argv.splice(1, process.argv.length, run.name, ...run.args);
		enter_directory(run.cwd);
	}

	// Calls done(), now or later, with { value } or { error }. The inspector waits for the first promise
	// that is made. If that promise were garbage-collected, because nothing can settle it any more,
	// the process would exit. `kept` therefore holds the promise, also after the cell was interrupted.
	const kept = [];

	function evaluate_cell(code, label, done) {
		const stop = promiseHooks.onInit((promise) => {
			kept.push(promise);
			stop();
		});
		inspector.post('Runtime.evaluate', {
			expression: `${replace_imports(code, '__import')}\n//# sourceURL=${label}`,
			replMode: true, objectGroup: 'cell', silent: true,
		}, (failed, result) => {
			if (failed)
				return; // the cell was interrupted
			const details = result.exceptionDetails;
			if (!details)
				done({ value: value_of(result.result) });
			else
				done({ error: value_of(details.exception), details });
		});
	}

	function run_cell(run) {
		const label = run.name.replace(/[\s'"]+/g, '-');
		const mine = {
			run, label, code: 0, outcome: null, has_exited: false,
			usage: process.resourceUsage(), restore_env: set_cell_env(run.env),
		};
		let code;
		cell = mine;
		try {
			prepare_run(run);
			code = to_javascript(run.code);
		} catch (error) {
			mine.outcome = { error };
			finish_cell();
			return;
		}
		// SIGINT may end interruptible code at any point, so that code only stores the outcome.
		const is_through = call_interruptible(() => evaluate_cell(code, label, (outcome) => {
			if (cell !== mine)
				return;
			mine.outcome = outcome;
			if (!is_interruptible)
				finish_cell();
		}));
		if (cell === mine && (mine.outcome || !is_through))
			finish_cell();
	}

	// process.exit() of a session ends the cell and not the process. In what an earlier cell left running
	// only the function ends.
	function exit_cell(...args) {
		if (cell) {
			process.exitCode = args[0] ?? process.exitCode ?? 0; // refuses what is no exit code
			cell.has_exited = true;
			if (!is_interruptible)
				finish_cell();
			if (terminate())
				for (;;);
		}
		throw EXITED;
	}

	// Has V8 end the code that runs, without `catch` and `finally`. Code with an async id of its own, such
	// as the callback of a timer, cannot be ended without corrupting Node's stack of these ids.
	function terminate() {
		if (is_interruptible) // process.kill() would first do what Node does at exit
			return !require('child_process').spawnSync('/bin/sh', ['-c', `kill -INT ${process.pid}`]).error;
		if (executionAsyncId() !== 0)
			return false;
		inspector.post('Runtime.terminateExecution', () => {});
		return true;
	}

	// --- the process

	function next_frame() {
		while (!cell && waiting.length) {
			const { type, body } = waiting.shift();
			if (type === 'R')
				run_cell(decode_run(body));
			else if (type === 'M')
				[1, 2].forEach((fd) => write_all(fd, body));
		}
	}

	let chunks = [];
	let have = 0;

	function receive_chunk(chunk) {
		chunks.push(chunk);
		have += chunk.length;
		for (;;) {
			if (have < 5)
				return;
			if (chunks[0].length < 5)
				chunks = [Buffer.concat(chunks)];
			const size = 5 + chunks[0].readUInt32LE(1);
			if (have < size)
				return;
			const all = chunks.length > 1 ? Buffer.concat(chunks) : chunks[0];
			waiting.push({ type: String.fromCharCode(all[0]), body: all.subarray(5, size) });
			chunks = [all.subarray(size)];
			have -= size;
			setImmediate(next_frame);
		}
	}

	function import_from_cwd(specifier, options) {
		const name = String(specifier);
		const is_path = /^\.{0,2}\//.test(name);
		return dynamic_import(is_path ? url.pathToFileURL(path.resolve(name)).href : name, options);
	}
	import_from_cwd.meta = {
		get dirname() { return process.cwd(); },
		get url() { return url.pathToFileURL(`${process.cwd()}/`).href; },
		resolve: (name) => url.pathToFileURL(globalThis.require.resolve(name)).href,
	};

	define_property(globalThis, 'display', { value: display, writable: true });
	define_property(globalThis, '__import', { value: import_from_cwd });
	define_property(process, 'stdin', {
		enumerable: true,
		get: () => stdin ??= fs.createReadStream(null, { fd: 0, autoClose: false }),
	});
	process.exit = exit_cell;
	process.execArgv = [];
	delete process._eval;
	for (const stream of [process.stdout, process.stderr])
		stream._handle?.setBlocking?.(true); // output must be written before ENDED is sent

	process.on('SIGINT', () => cell && finish_cell());
	process.on('uncaughtException', report_uncaught);
	process.on('unhandledRejection', report_uncaught);
	const exit = process.reallyExit;
	process.reallyExit = function (code) {
		if (cell)
			end_cell(code ?? 0, 1);
		exit.call(process, code);
	};

	const socket = new net.Socket({ fd: 3, readable: true, writable: false });
	socket.on('data', receive_chunk);
	socket.on('close', () => exit.call(process, 0)); // the server has closed the socket
	socket.on('error', () => {});
	send_frame('r', process.versions.node);
}
