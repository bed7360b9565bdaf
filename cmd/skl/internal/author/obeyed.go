package author

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/skill"
)

var spot = sync.OnceValue(func() func(file string) bool { return tool.Spots(hosts.Configuration()) })

// Ends of names of files that are read, and of programs, whose text an audit reads: nothing acts on them by itself, whatever else they are called.
var (
	plainEnds = strings.Fields(`md markdown txt rst adoc csv tsv json jsonl yaml yml xml html htm css svg sql tmpl tpl template j2 jinja mustache hbs ejs
		png jpg jpeg gif webp pdf docx xlsx pptx woff woff2 ttf`)
	programEnds = strings.Fields(`sh bash zsh fish ps1 py js mjs cjs ts mts cts tsx jsx rb pl php lua go rs java kt swift c h cc cpp hpp cs r jl scala awk sed`)
)

// namedFiles are files with such an end on which programs act all the same, when they build, test or look at what is beside them.
var namedFiles = strings.Fields(`package.json composer.json bower.json deno.json deno.jsonc tsconfig.json jsconfig.json lerna.json nx.json turbo.json
	vercel.json now.json netlify.json firebase.json biome.json project.json app.json manifest.json angular.json renovate.json
	pnpm-workspace.yaml docker-compose.yml docker-compose.yaml compose.yml compose.yaml taskfile.yml taskfile.yaml playbook.yml skaffold.yaml
	serverless.yml mkdocs.yml conda.yaml environment.yml app.yaml render.yaml fly.yaml pubspec.yaml codecov.yml _config.yml
	requirements.txt constraints.txt cmakelists.txt
	conftest.py setup.py noxfile.py fabfile.py tasks.py dodo.py
	gulpfile.js gruntfile.js webpack.config.js rakefile.rb build.rs hooks.json plugin.json marketplace.json mcp.json settings.json`)

// obeyed reports whether programs or agents may act by themselves on a file of a skill: what is none of the texts, data and programs that a skill
// is made of, or has a name that some program looks for.
func obeyed(name string, f trees.File) bool {
	base := strings.ToLower(path.Base(name))
	switch {
	case name == skill.FileName:
		return false
	case name == skill.SidecarName, strings.HasPrefix(name, "."), strings.Contains(name, "/."), spot()(name), slices.Contains(namedFiles, base), strings.Contains(base, ".config."):
		return true
	case f.Kind == bundle.Link:
		return true
	}
	end := strings.TrimPrefix(path.Ext(base), ".")
	switch {
	case slices.Contains(plainEnds, end), slices.Contains(programEnds, end):
		return false
	case end == "" && bytes.HasPrefix(f.Data, []byte("#!")), strings.HasPrefix(base, "license"), strings.HasPrefix(base, "notice"):
		return false // an audit reads the program
	}
	return true
}
