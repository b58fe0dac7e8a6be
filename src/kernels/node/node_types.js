// node_types.js - returns a function that makes JavaScript of the code of a TypeScript cell.
//
// Node can do it itself since 22.13. Otherwise the package typescript below version 7 is used: that of the working
// directory, or that of the command tsc. Imports must stay also if the cell does not use them, because
// a later cell may.
() => {
	'use strict';
	const fs = require('fs');
	const path = require('path');
	const Module = require('module');
	let compiler = null;

	// Calls Node's function without its warning that it is experimental.
	function strip_quietly(code, options) {
		const emit = process.emitWarning;
		process.emitWarning = () => {};
		try {
			return Module.stripTypeScriptTypes(code, options);
		} finally {
			process.emitWarning = emit;
		}
	}

	// Types become spaces, so that positions in errors are right. Syntax that is more than types, such
	// as enum, cannot be removed in this way.
	function strip(code) {
		try {
			return strip_quietly(code, {});
		} catch (error) {
			if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
				throw error;
			return strip_quietly(code, { mode: 'transform' });
		}
	}

	function load_compiler() {
		const places = [[path.join(process.cwd(), '[cell]'), 'typescript']];
		for (const folder of (process.env.PATH ?? '').split(':'))
			if (fs.existsSync(path.join(folder, 'tsc')))
				places.push([fs.realpathSync(path.join(folder, 'tsc')), '../lib/typescript.js']);
		for (const [file, name] of places) {
			try {
				const found = Module.createRequire(file)(name);
				if (found.transpileModule)
					return found;
			} catch {
				// The package is not there.
			}
		}
		throw new Error(`a session of TypeScript needs Node 22.13 or later (this is ${process.versions.node}),`
			+ ' or the package typescript below version 7: install_packages {"packages":["typescript@5"],"language":"javascript"}');
	}

	function transpile(code) {
		compiler ??= load_compiler();
		const { flattenDiagnosticMessageText, transpileModule, ModuleKind, ScriptTarget } = compiler;
		const imports = /^[0-4]\./.test(compiler.version) ? 'preserveValueImports' : 'verbatimModuleSyntax';
		const { diagnostics, outputText } = transpileModule(code, {
			reportDiagnostics: true,
			compilerOptions: { target: ScriptTarget.ESNext, module: ModuleKind.ESNext, isolatedModules: true, [imports]: true },
		});
		if (diagnostics.length) {
			const { start, messageText } = diagnostics[0];
			const line = code.slice(0, start).split('\n').length;
			throw new SyntaxError(`line ${line}: ${flattenDiagnosticMessageText(messageText, '\n')}`);
		}
		return outputText.replace(/^export \{\};$/m, '');
	}

	return Module.stripTypeScriptTypes ? strip : transpile;
}
