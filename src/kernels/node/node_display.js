// node_display.js - display() of a session, and values as text.
(session) => {
	'use strict';
	const { send_shown, get_picture_max, home } = session;
	const fs = require('fs');
	const path = require('path');
	const util = require('util');

	const VALUE_MAX = 60 * 1024; // bytes of a value as text: the server cuts further, and says so
	const SMALL_MAX = 1024; // characters of HTML or SVG that are answered as text
	const FOR_BROWSERS = /^(text\/html|image\/svg|application\/(javascript|vnd\.))/;
	const EXTENSIONS = {
		'text/html': 'html', 'image/svg+xml': 'svg', 'text/markdown': 'md', 'text/latex': 'tex',
		'application/javascript': 'js',
	};

	function cut_text(text, max) {
		const bytes = Buffer.from(text);
		if (bytes.length <= max)
			return text;
		let end = max;
		while ((bytes[end] & 0xc0) === 0x80)
			end--;
		return `${bytes.toString('utf8', 0, end)}\n... (${bytes.length - end} bytes more)`;
	}

	// Keeps the stack frames of cells and of the code they called.
	function clean_stack(stack) {
		const other = /\(?node:(internal\/|inspector:|vm:)|\[eval\]|belljar:kernel/;
		const is_other = (line) => /^\s+at .*[^{]$/.test(line) && other.test(line);
		return stack.split('\n').filter((line) => !is_other(line)).join('\n');
	}

	function clean_error(error, depth = 0) {
		if (!util.types.isNativeError(error) || depth > 8)
			return;
		if (typeof error.stack === 'string' && Object.isExtensible(error))
			Object.defineProperty(error, 'stack', { configurable: true, value: clean_stack(error.stack), writable: true });
		clean_error(error.cause, depth + 1);
	}

	function inspect_value(value) {
		try {
			clean_error(value);
			const text = clean_stack(util.inspect(value));
			// Node puts an error that has no stack, of a kernel's function for example, in brackets.
			return util.types.isNativeError(value) && /^\[[^\n]*\]$/.test(text) ? text.slice(1, -1) : text;
		} catch (error) {
			return `(a value that cannot be shown: ${error?.message})`;
		}
	}

	// --- display

	const PICTURES = [
		['png', 'image/png', (b) => b.readUInt32BE(0) === 0x89504e47],
		['jpg', 'image/jpeg', (b) => b[0] === 0xff && b[1] === 0xd8 && b[2] === 0xff],
		['gif', 'image/gif', (b) => /^GIF8[79]a/.test(b.toString('latin1', 0, 6))],
		['webp', 'image/webp', (b) => /^RIFF....WEBP/s.test(b.toString('latin1', 0, 12))],
	];

	// Text that only a browser or a program reads, and long text, is a file that the answer names.
	function show_text(mime, text) {
		const most = FOR_BROWSERS.test(mime) ? SMALL_MAX : VALUE_MAX;
		if (mime === 'text/plain')
			send_shown(mime, cut_text(text, VALUE_MAX), '');
		else if (text.length <= most)
			send_shown(mime, text, '');
		else
			send_shown(mime, '', save_file(Buffer.from(text), mime.split('/')[0] === 'image' ? 'image' : 'page',
				EXTENSIONS[mime] ?? (mime.endsWith('json') ? 'json' : 'txt')));
	}

	function show_picture(bytes, extension, mime) {
		const file = save_file(bytes, 'image', extension);
		if (bytes.length > (get_picture_max() || Infinity))
			send_shown('text/plain', `a picture of ${bytes.length} bytes, which is too large to be shown: ${file}`, '');
		else
			send_shown(mime, '', file);
	}

	// Writes a new file below .belljar. Returns its path.
	function save_file(bytes, stem, extension) {
		const directory = path.join(home, '.belljar');
		fs.mkdirSync(directory, { recursive: true });
		for (let number = 1; ; number++) {
			const name = path.join(directory, `${stem}-${number}.${extension}`);
			try {
				fs.writeFileSync(name, bytes, { flag: 'wx' });
				return name;
			} catch (error) {
				if (error.code !== 'EEXIST')
					throw error;
			}
		}
	}

	function picture_of(value) {
		if (!(value instanceof Uint8Array) || value.length < 12)
			return null;
		const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
		const kind = PICTURES.find(([, , is]) => is(bytes));
		return kind ? [bytes, kind[0], kind[1]] : null;
	}

	// { 'text/html': ... } or { mime, data }
	function bundle_of(value) {
		if (value === null || typeof value !== 'object')
			return null;
		if (typeof value.mime === 'string' && value.data !== undefined)
			return [[value.mime, value.data]];
		const entries = Object.entries(value);
		const is_mime = ([key]) => /^(text|image|application)\/[\w.+-]+$/.test(key);
		return entries.length && entries.every(is_mime) ? entries : null;
	}

	function show_data(mime, data) {
		if (/^image\/(?!svg)/.test(mime)) {
			const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data;
			const picture = picture_of(bytes);
			if (!picture)
				throw new TypeError(`display: the data of ${mime} is no PNG, JPEG, GIF or WEBP picture`);
			show_picture(...picture);
		} else if (typeof data === 'string') {
			show_text(mime, data);
		} else if (data instanceof Uint8Array) {
			show_text(mime, Buffer.from(data).toString());
		} else {
			show_text(mime, JSON.stringify(data, null, 2) ?? 'null');
		}
	}

	// What other kernels of JavaScript ask a value for: a bundle of its media types.
	function own_bundle(value) {
		const method = value?.[Symbol.for('Jupyter.display')];
		const bundle = typeof method === 'function' ? method.call(value) : null;
		return typeof bundle?.then === 'function' ? null : bundle_of(bundle);
	}

	function display(...values) {
		for (const value of values) {
			const picture = picture_of(value);
			const bundle = own_bundle(value) ?? bundle_of(value);
			if (picture)
				show_picture(...picture);
			else if (typeof value === 'string' && /^\s*(<\?xml[^>]*>\s*)?<svg[\s>]/.test(value))
				show_text('image/svg+xml', value);
			else if (bundle)
				bundle.forEach((each) => show_data(...each));
			else
				send_shown('text/plain', cut_text(typeof value === 'string' ? value : inspect_value(value), VALUE_MAX), '');
		}
	}
	display.json = (value) => show_data('application/json', JSON.stringify(value, null, 2) ?? 'null');
	display.html = (text) => show_text('text/html', String(text));
	display.svg = (text) => show_text('image/svg+xml', String(text));
	display.markdown = (text) => show_text('text/markdown', String(text));

	// The value of a cell. A string or an object that only looks like a bundle is shown as such.
	function show_value(value) {
		const picture = picture_of(value);
		const bundle = own_bundle(value);
		if (picture)
			show_picture(...picture);
		else if (bundle)
			bundle.forEach((each) => show_data(...each));
		else
			send_shown('text/plain', cut_text(inspect_value(value), VALUE_MAX), '');
	}

	return { cut_text, display, inspect_value, show_value };
}
