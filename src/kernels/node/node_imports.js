// node_imports.js - replaces import in the code of a cell by calls of another function: where cells
// are evaluated, neither the import statement nor import() works.
//
// The function is not a parser: it skips strings, comments and regular expressions, and counts
// braces. Line numbers do not change. Every look ahead is bounded, so that the time grows linearly
// with the code.
(code, name) => {
	'use strict';
	if (!/\bimport\b/.test(code))
		return code;

	const SPACE = /(?:\s|\/\/.*|\/\*[^]*?(?:\*\/|$))*/y;
	const WORD = /[\p{ID_Start}$_\\][\p{ID_Continue}$\u200c\u200d\\]*/uy;
	const NUMBER = /\.?\d(?:[eE][+-]|[\w.])*/y;
	const STRING = /'(?:[^'\\\n]|\\[^])*'?|"(?:[^"\\\n]|\\[^])*"?/y;
	const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
	const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(`|\$\{|$)/y;
	const STATEMENT = new RegExp([
		/import\s*(?:([^'"`();=]{1,2048}?)\bfrom\s*)?/, /('[^'\n]*'|"[^"\n]*")/,
		/(?:[ \t]*(?:with|assert)\s*(\{[^}]*\}))?/, /[ \t]*;?/,
	].map((part) => part.source).join(''), 'y');
	const CLAUSE = /^\s*([^\s{},*]+)?\s*,?\s*(?:\*\s*as\s+([^\s{},*]+)|\{([^{}]*)\})?\s*$/;
	// A slash behind one of these words begins a regular expression, not a division.
	const BEFORE_REGEX = new RegExp('^(?:return|typeof|case|do|else|in|of|void|delete|throw|new'
		+ '|instanceof|await|yield)$');

	const take = (pattern, at) => {
		pattern.lastIndex = at;
		return pattern.exec(code);
	};
	const after_space = (at) => at + take(SPACE, at)[0].length;

	// In a class or an object, import(x) { } is a method.
	const is_method = (at) => {
		let depth = 0;
		for (let i = at; i < Math.min(code.length, at + 4096); i++) {
			if (code[i] === '(')
				depth++;
			else if (code[i] === ')' && --depth === 0)
				return code[after_space(i + 1)] === '{';
		}
		return false;
	};

	const statement = (found) => {
		const [whole, clause, specifier, attributes] = found;
		const call = `await ${name}(${specifier}${attributes ? `, { with: ${attributes} }` : ''})`;
		const lines = '\n'.repeat(whole.split('\n').length - 1);
		if (clause === undefined)
			return `void ${call};${lines}`;
		const parts = CLAUSE.exec(clause.replace(/\/\*[^]*?\*\/|\/\/.*/g, ' '));
		if (!parts)
			return whole;
		const [, fallback, space, names] = parts;
		const wanted = fallback ? [`default: ${fallback}`] : [];
		if (names)
			wanted.push(names.replace(/\s+/g, ' ').replace(/\sas\s/g, ': '));
		if (!space)
			return `const { ${wanted.join(', ')} } = ${call};${lines}`;
		const more = fallback ? `, { default: ${fallback} } = ${space}` : '';
		return `const ${space} = ${call}${more};${lines}`;
	};

	let out = '';
	let at = 0;
	let before = ''; // the token before this one
	const open = []; // braces and brackets; '`' for one in a template
	const copy = (length, token) => {
		out += code.slice(at, at + length);
		at += length;
		if (token !== undefined)
			before = token;
	};
	const template = () => {
		const found = take(TEMPLATE, at);
		copy(found[0].length, '`');
		if (found[1] === '${') {
			open.push('`');
			before = '{';
		}
	};

	const may_be_regex = () => !/^[x)\]`]$|^\w+$/.test(before) || BEFORE_REGEX.test(before);

	const word = () => {
		const [text] = take(WORD, at);
		const is_member = before === '.' || before === '?.';
		const next = after_space(at + text.length);
		if (text !== 'import' || is_member) {
			copy(text.length, is_member ? 'x' : text);
		} else if ((code[next] === '(' && !is_method(next)) || code[next] === '.') {
			out += name;
			at += text.length;
			before = 'x';
		} else {
			const found = open.length ? null : take(STATEMENT, at);
			if (found) {
				out += statement(found);
				at += found[0].length;
				before = ';';
			} else {
				copy(text.length, text);
			}
		}
	};

	while (at < code.length) {
		const c = code[at];
		const space = take(SPACE, at)[0].length;
		let found;
		if (space) {
			copy(space);
		} else if (c === '`') {
			copy(1);
			template();
		} else if (c === '}' && open[open.length - 1] === '`') {
			open.pop();
			copy(1);
			template();
		} else if ((found = take(STRING, at)) || (found = take(NUMBER, at))) {
			copy(found[0].length, 'x');
		} else if (take(WORD, at)) {
			word();
		} else if (c === '/' && may_be_regex() && (found = take(REGEX, at))) {
			copy(found[0].length, 'x');
		} else {
			if ('([{'.includes(c))
				open.push(c);
			else if (')]}'.includes(c))
				open.pop();
			copy(1, code.startsWith('?.', at) ? '?.' : code.startsWith('...', at) ? '...' : c);
			if (before === '?.' || before === '...')
				copy(before.length - 1);
		}
	}
	return out;
}
