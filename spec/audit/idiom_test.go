package audit

import (
	"strings"
	"testing"
)

// Ways around the names of what acts, and libraries that speak to the network without an address.
func TestIdioms(t *testing.T) {
	for _, test := range []struct{ file, src, want string }{
		{"a.py", "import os\nos.system('id')\n", "run:python3"},
		{"a.py", "import boto3\ns = boto3.client('s3')\ns.get_object(Bucket='a', Key='b')\n", "run:python3 net:*"},
		{"a.py", "import psycopg2\npsycopg2.connect('host=evil.example dbname=a')\n", "run:python3 net:evil.example"},
		{"a.py", "import psycopg2\npsycopg2.connect(host='evil.example')\n", "run:python3 net:evil.example"},
		{"a.py", "import psycopg2\npsycopg2.connect('dbname=a')\n", "run:python3 net:*"},
		{"a.py", "from pymongo import MongoClient\nMongoClient('mongodb://m.example/a')\n", "run:python3 net:m.example"},
		{"a.py", "import redis\nredis.Redis(host='r.example')\n", "run:python3 net:r.example"},
		{"a.py", "import redis as r\nr.Redis()\n", "run:python3 net:*"},
		{"a.py", "import smtplib\nsmtplib.SMTP('mail.example')\n", "run:python3 net:mail.example"},
		{"a.py", "import importlib\ns = importlib.import_module('soc' + 'ket')\ns.create_connection(('evil.example', 1))\n", "run:python3 net:evil.example"},
		{"a.py", "import importlib\nq = importlib.import_module('o' + 's')\ngetattr(q, 'sys' + 'tem')('gh pr list')\n", "run:gh run:python3"},
		{"a.py", "import os\ngetattr(os, 'sys' + 'tem')('gh')\n", "run:gh run:python3"},
		{"a.py", "def f(q):\n    getattr(q, 'sys' + 'tem')('gh pr list')\n", "dynamic-exec run:python3"},
		{"a.py", "import os, sys\ngetattr(os, sys.argv[1])('id')\n", "dynamic-exec run:python3"},
		{"a.py", "import sys\nf = getattr(__import__(sys.argv[1]), 'x')\n", "dynamic-exec run:python3"},
		{"a.py", "import argparse\nv = getattr(args, 'name', None)\n", "run:python3"},
		{"a.js", "globalThis['ev' + 'al']('1')\n", "dynamic-exec run:node"},
		{"a.js", "const c = require('child_' + 'process')\nc['ex' + 'ec']('gh pr list')\n", "run:gh run:node"},
		{"a.js", "require(process.argv[2]).x()\n", "dynamic-exec run:node"},
		{"a.js", "const { Client } = require('pg')\nnew Client()\n", "run:node net:*"},
	} {
		got := strings.Join(Read([]File{{Path: test.file, Data: []byte(test.src)}}).Set().Texts(), " ")
		if got != test.want {
			t.Errorf("%s %q:\n got %q\nwant %q", test.file, test.src, got, test.want)
		}
	}
}
