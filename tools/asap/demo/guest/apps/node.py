# SPDX-License-Identifier: GPL-2.0
"""A Node.js web service over an object graph, asked by HTTP as a browser would."""
import json
import subprocess
import urllib.parse

from app import DATA, Service

PACKAGES = "nodejs"

SERVER = f"""
const fs = require('fs');
const http = require('http');
const url = require('url');

const packages = new Map(), sections = new Map(), words = new Map(), prefixes = new Map();
const add = (map, key, value) => {{
	const list = map.get(key);
	if (list) list.push(value); else map.set(key, [value]);
}};
for (const line of fs.readFileSync('{DATA}/packages.tsv', 'utf8').split('\\n')) {{
	if (!line) continue;
	const [name, version, section, size, maintainer, depends, description] = line.split('\\t');
	const p = {{ name, version, section, size: Number(size), maintainer, description,
		depends: depends ? depends.split(',') : [] }};
	packages.set(name, p);
	add(sections, section, p);
	add(prefixes, name.slice(0, 4), p);
	for (const word of new Set(description.toLowerCase().match(/[a-z]{{4,}}/g) || []))
		add(words, word, p);
}}

const answers = {{
	section(name) {{
		const found = sections.get(name) || [];
		return {{ name, count: found.length, size: found.reduce((sum, p) => sum + p.size, 0),
			largest: [...found].sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1))
				.slice(0, 10).map(p => [p.name, p.version, p.size]) }};
	}},
	search(word) {{
		return (words.get(word) || []).map(p => [p.name, p.description]);
	}},
	closure(name) {{
		const seen = new Set(), todo = [name];
		let size = 0;
		while (todo.length) {{
			const p = packages.get(todo.pop());
			if (!p || seen.has(p)) continue;
			seen.add(p);
			size += p.size;
			todo.push(...p.depends);
		}}
		return {{ name, count: seen.size, size }};
	}},
	prefix(text) {{
		return (prefixes.get(text) || []).map(p => [p.name, p.version, p.maintainer]);
	}},
}};

http.createServer((request, response) => {{
	const page = new url.URLSearchParams(url.parse(request.url).query);
	const answer = [];
	for (const [kind, arg] of page) answer.push(answers[kind](arg));
	response.setHeader('Content-Type', 'application/json');
	response.end(JSON.stringify(answer));
}}).listen('server.sock');
"""


class App(Service):
    def start(self):
        self.address = self.path("server.sock")
        self.spawn(["node", self.path("server.js", SERVER)], stdout=subprocess.DEVNULL)
        self.wait_for_socket().close()

    def request(self, questions):
        query = urllib.parse.urlencode(questions)
        with self.connect() as sock:
            sock.settimeout(self.answer_timeout)
            sock.sendall(f"GET /?{query} HTTP/1.0\r\nHost: demo\r\n\r\n".encode())
            reply = bytearray()
            while chunk := sock.recv(1 << 16):
                reply += chunk
        head, _, body = bytes(reply).partition(b"\r\n\r\n")
        try:
            json.loads(body)
        except ValueError:
            self.fail(f"no answer: {head[:100]!r}")
        return body
