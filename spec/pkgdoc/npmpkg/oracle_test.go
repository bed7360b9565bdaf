package npmpkg

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/testdata/long"
)

// asked prints what the compiler of TypeScript says that declaration files export: {FILE: [NAME…]}.
const asked = `
const ts = require(process.argv[2]);
const files = process.argv.slice(3);
const program = ts.createProgram(files, {noLib: true, skipLibCheck: true, moduleResolution: ts.ModuleResolutionKind.NodeNext, module: ts.ModuleKind.NodeNext});
const checker = program.getTypeChecker();
const out = {};
for (const f of files) {
	const file = program.getSourceFile(f);
	const symbol = file && checker.getSymbolAtLocation(file);
	out[f] = symbol ? checker.getExportsOfModule(symbol).map(s => s.getName()).filter(n => n !== "export=") : [];
}
console.log(JSON.stringify(out));
`

// TestAgainstTypeScript compares the exports of packages with what the compiler says of them.
func TestAgainstTypeScript(t *testing.T) {
	modules := long.Agent(t, "SKL_TEST_DECLARATIONS", "the folder of packages with declarations")
	script := filepath.Join(t.TempDir(), "asked.js")
	if err := os.WriteFile(script, []byte(asked), 0o666); err != nil {
		t.Fatal(err)
	}
	total, missing := 0, 0
	for _, name := range []string{"typescript", "commander", "yaml", "zod", "rxjs", "undici", "date-fns", "chalk", "execa"} {
		dir := filepath.Join(modules, name)
		p, err := Read(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		args := []string{script, filepath.Join(modules, "typescript")}
		p.Pages = slices.DeleteFunc(p.Pages, func(page pkgdoc.Page) bool { // what a file says of another package's module is not what it exports
			return page.ID != name && !strings.HasPrefix(page.ID, name+"/")
		})
		for _, page := range p.Pages {
			args = append(args, filepath.Join(dir, page.File))
		}
		out, err := exec.Command("node", args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		said := map[string][]string{}
		if err := json.Unmarshal(out, &said); err != nil {
			t.Fatal(err)
		}
		for _, page := range p.Pages {
			var names []string
			for _, s := range page.Symbols {
				names = append(names, s.Name)
			}
			for _, want := range said[filepath.Join(dir, page.File)] {
				if total++; !slices.Contains(names, want) {
					missing++
					t.Errorf("%s exports %s, which is missing", page.ID, want)
				}
			}
		}
	}
	t.Logf("%d exports, %d missing", total, missing)
	if total < 5000 {
		t.Errorf("%d exports", total)
	}
}
