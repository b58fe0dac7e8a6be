// node_value.js - makes a program tell the value of its last statement, if that is an expression.
//
// Node has no parser for programs, but its compiler says whether a text is complete. The last
// statement begins at the last line break or semicolon that leaves a complete program in front and an
// expression behind. The expression becomes the argument of a function. The call begins at the end of
// the line before, so that errors name the same lines and columns; the text begins with an empty line,
// which is not counted. Only if the statement stands behind another one in its line, or in the first
// line of an ES module, the columns of that line change. Where anything is uncertain, the program stays
// as it is.
(replace_imports) => {
	'use strict';
	const vm = require('vm');
	const NAME = '__last_value';
	const CALL = { program: NAME, module: `(globalThis.${NAME}??Object)` }; // workers have no such global
	// As the value of a property the expression keeps its own position in errors, which the argument of
	// a call would not; with an empty name a function gets no name from it.
	const BEGIN = '({"":(';
	const END = '\n)})';
	const CODE_MAX = 256 * 1024; // characters: larger programs are left alone
	const TRIES_MAX = 100; // beginnings that are tried
	const NAMES = ['exports', 'require', 'module', '__filename', '__dirname'];
	const SPACE = /(?:\s|\/\/.*|\/\*[^]*?(?:\*\/|$))*/y;
	// A line that begins with one of these continues the line before, if that has no semicolon.
	const CONTINUES = /^[-+/([`.*]/;
	// Statements that look like expressions, and expressions whose value is of no interest.
	const NO_VALUE = new RegExp([
		/^\{|^(?:async\s+)?function\b|^class\b|^console\s*\.|^process\s*\.\s*std(?:out|err)\b/,
		/^[\w$]+(?:\s*\.\s*[\w$]+|\s*\[[^\]\n]*\])*\s*(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)?=(?![=>])/,
	].map((part) => part.source).join('|'));

	function skip_space(text) {
		SPACE.lastIndex = 0;
		return text.slice(SPACE.exec(text)[0].length);
	}

	// Returns the text of a CommonJS program, as the body of a function with the parameters `names`, its
	// first line being line 0; the text of an ES module; or null.
	return { names: [...NAMES, NAME], tell_value: (code, is_module) => {
		const compiles = (text) => {
			try {
				vm.compileFunction(text, NAMES);
				return true;
			} catch {
				return false;
			}
		};
		const is_program = (text) => compiles(is_module ? `(async () => {${replace_imports(text, 'i')}\n})` : text);
		const is_expression = (text) => compiles(is_module
			? `(async () => (${replace_imports(text, 'i')}\n))` : `(${text}\n)`);

		// The expression and the rest behind it: a semicolon and comments.
		function split_end(text) {
			if (is_expression(text))
				return [text, ''];
			let tries = 0;
			for (let end = text.indexOf(';'); end >= 0 && tries++ < 20; end = text.indexOf(';', end + 1))
				if (skip_space(text.slice(end).replace(/^[;\s]+/, '')) === '' && is_expression(text.slice(0, end)))
					return [text.slice(0, end), text.slice(end)];
			return null;
		}

		// Whether nothing that follows can belong to the last statement of the text.
		function is_closed(text) {
			const trimmed = text.trimEnd();
			return trimmed === '' || (trimmed.endsWith(';') && !/\/\/|\*\//.test(trimmed.slice(trimmed.lastIndexOf('\n') + 1)));
		}

		// A semicolon in a comment ends no statement.
		const is_in_comment = (before) => before.endsWith(';') && is_program(`${before} @`);

		function insert_call(before, expression, rest) {
			const line_end = before.endsWith('\n') ? before.length - 1 : before.length;
			const call = `${before.trim() ? ';' : ''}${is_module ? CALL.module : CALL.program}${BEGIN}`;
			for (const at of [line_end, before.length]) { // a comment may stand at the end of the line
				const text = `${before.slice(0, at)}${call}${before.slice(at)}${expression}${END}${rest}`;
				if (is_program(text))
					return text;
			}
			return null;
		}

		if (code.length > CODE_MAX || code.includes(NAME) || code.startsWith('#!'))
			return null;
		if (!is_module)
			code = `\n${code}`;
		let tries = 0;
		for (let at = code.length; at > 0 && tries < TRIES_MAX;) {
			at = at < 2 ? 0 : Math.max(code.lastIndexOf('\n', at - 2), code.lastIndexOf(';', at - 2)) + 1;
			const before = code.slice(0, at);
			const first = skip_space(code.slice(at));
			if (first === '' || first[0] === ';')
				continue;
			tries++;
			const parts = split_end(code.slice(at));
			if (!parts || (CONTINUES.test(first) && !is_closed(before)) || !is_program(before) || is_in_comment(before))
				continue;
			return NO_VALUE.test(first) ? null : insert_call(before, ...parts);
		}
		return null;
	} };
}
