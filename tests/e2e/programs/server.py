# SPDX-License-Identifier: BSD-2-Clause
# server.py MODE FLEET_VERSION: a server of ClickHouse's protocol on loopback that answers badly. Prints its
# port. It says that its tables have the version; then, or with a mode that begins with "at once" before, it
#	silent		accepts the request and says nothing
#	slow		sends a byte a second
#	endless		sends rows without end
#	headers		sends headers without end
#	arrays N, objects N, rows N	sends an answer of N MiB: empty arrays, empty objects, true rows
import http.server
import sys
import time

mode, version = sys.argv[1], sys.argv[2]
row = b'{"functions":["' + b'f' * 60 + b'","main"],"value":12},'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *words):
        pass

    def answer(self, text):
        self.send_response(200)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def misbehave(self):
        word = mode.split()[-1]
        if word == 'silent':
            time.sleep(600)
        elif word == 'headers':
            while True:
                self.wfile.write(b'HTTP/1.1 100 Continue\r\nX-More: ' + b'x' * 60000 + b'\r\n\r\n')
        elif word in ('slow', 'endless'):
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n')
            if word == 'endless':
                self.wfile.write(b'{"data":[')
            while True:
                self.wfile.write(row * 1000 if word == 'endless' else b' ')
                self.wfile.flush()
                time.sleep(0 if word == 'endless' else 1)
        else:
            unit = {'arrays': b'[],', 'objects': b'{},', 'rows': row}[mode.split()[-2]]
            count = (int(word) << 20) // len(unit)
            self.answer(b'{"meta":[],"data":[' + unit * count + unit[:-1] + b'],"rows":1}')

    def do_POST(self):
        sql = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        if b'gcprof_schema' in sql and 'at once' not in mode:
            self.answer(version.encode() + b'\t0\n')
        elif 'at once' in mode or b'FORMAT JSON' in sql or 'default_format' in self.path or 'INSERT' in self.path:
            self.misbehave()
        else:
            self.answer(b'')


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
try:
    server.serve_forever()
except BrokenPipeError:
    pass
