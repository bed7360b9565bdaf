package audit

import (
	"strings"
	"testing"
)

// A manifest is installed by whoever follows the skill: its packages count, and the hosts that they come from.
func TestManifests(t *testing.T) {
	for _, test := range []struct{ files, want string }{
		{"requirements.txt=# see https://docs.example\nrequests==2.0 # x\nPillow[a]>=1 ; python_version < '3'\nleft @ https://l.example/left.whl\n", "net:l.example pkg:pip:Pillow pkg:pip:left pkg:pip:requests"},
		{"dev-requirements.txt=--index-url https://i.example/simple\n--extra-index-url=https://j.example\n-fhttps://f.example\n--trusted-host t.example\na\n", "net:f.example net:i.example net:j.example net:t.example pkg:pip:a"},
		{"requirements/base.txt=git+https://g.example/a@main#egg=a\n-e git+ssh://git@h.example/b\n--find-links ${WHEELS_TOKEN}\n", "net:* net:g.example net:h.example pkg:pip:git+https://g.example/a pkg:pip:git+ssh://h.example/b"},
		{"requirements.txt=-r more.lst\n./x.whl\n|more.lst=b\n|x.whl=x\n", "dynamic-exec pkg:pip:b"},
		{"SKILL.md=Run `pip install -r deps.lst`.\n|deps.lst=b\n--index-url \\\n  https://i.example\n", "run:pip net:i.example pkg:pip:b"},
		{`package.json={"name": "x", "version": "1.0.0", "dependencies": {"left": "^1", "@a/b": "git+https://g.example/b"}, "devDependencies": {"c": "npm:evil@1", "d": "user/repo", "e": "file:../e"}}`, "net:g.example net:github.com pkg:npm:@a/b pkg:npm:d pkg:npm:evil pkg:npm:left"},
		{`package.json={"overrides": {"a": {"b": "https://o.example/b.tgz"}}}`, "net:o.example pkg:npm:a"},
		{"package.json={", "dynamic-exec"},
		{`deno.json={"imports": {"a": "jsr:@std/fs@1/walk", "b": "npm:chalk@5", "c": "https://d.example/m.ts", "d/": "./d/"}}`, "net:d.example pkg:jsr:@std/fs pkg:npm:c pkg:npm:chalk"},
		{"pyproject.toml=[project]\nname = \"x\"\ndependencies = [\"a>=1\", \"b @ https://b.example/b.whl\"]\n[project.optional-dependencies]\ntest = [\"c\"]\n[build-system]\nrequires = [\"d\"]\n[dependency-groups]\ndev = [\"e\", {include-group = \"f\"}]\n[[tool.uv.index]]\nurl = \"https://i.example\"\n", "net:b.example net:i.example pkg:pip:a pkg:pip:b pkg:pip:c pkg:pip:d pkg:pip:e"},
		{"pyproject.toml=[tool.poetry.dependencies]\npython = \"^3\"\na = \"^1\"\nb = {git = \"https://g.example/b\"}\nc = {path = \"../c\"}\n", "net:g.example pkg:pip:a pkg:pip:b"},
		{"Pipfile=[[source]]\nurl = \"https://s.example\"\n[packages]\na = \"*\"\n", "net:s.example pkg:pip:a"},
		{"Pipfile=[", "dynamic-exec"},
		{"Cargo.toml=[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb = {git = \"https://g.example/b\"}\nr = {package = \"real\", version = \"1\"}\n[target.'cfg(unix)'.dev-dependencies]\nc = \"1\"\n", "net:g.example pkg:cargo:a pkg:cargo:b pkg:cargo:c pkg:cargo:real"},
		{"go.mod=module m.example/x\n\ngo 1.24\nrequire (\n\ta.example/b v1.0.0\n\tc.example/d v1.0.0 // indirect\n)\nrequire e.example/f v1\nreplace a.example/b => g.example/h v1\nreplace e.example/f => ../f\n", "pkg:go:a.example/b pkg:go:c.example/d pkg:go:e.example/f pkg:go:g.example/h"},
		{`composer.json={"require": {"php": ">=8", "ext-json": "*", "a/b": "1"}, "repositories": [{"type": "vcs", "url": "https://v.example/b"}]}`, "net:v.example pkg:composer:a/b"},
		{"environment.yml=channels: [conda-forge]\ndependencies:\n  - numpy=1.2\n  - pip:\n    - a==1\n", "pkg:conda:numpy pkg:pip:a"},
		// what is none
		{"requirements.txt=The system must answer within a second.\n- fast\n- see a.example\n", ""},
		{"requirements.md=requests\n", ""},
		{`other.json={"dependencies": {"a": "1"}}`, ""},
		{`package-lock.json={"dependencies": {"a": {"version": "1"}}}`, ""},
	} {
		var files []File
		for _, f := range strings.Split(test.files, "\n|") {
			name, data, _ := strings.Cut(f, "=")
			files = append(files, File{Path: name, Data: []byte(data + "\n")})
		}
		if got := strings.Join(Read(files).Set().Texts(), " "); got != test.want {
			t.Errorf("%q\n got %q\nwant %q", test.files, got, test.want)
		}
	}
}
