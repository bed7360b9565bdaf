package lang_test

import (
	"fmt"

	"github.com/skl-project/skl/index/lang"
)

func ExampleScan() {
	f := lang.Scan(lang.Python, []byte(`
class Store(Base):
    def get(self, key: str) -> bytes:
        """Reads one value."""
        return self.disk.read(key)
`))
	for _, s := range f.Symbols {
		fmt.Println(s.Kind, s.Owner, s.Name+s.Signature, s.Span.FirstLine, s.Span.LastLine)
	}
	for _, r := range f.References {
		fmt.Println(r.Kind, r.Qualifier, r.Name, "in", f.Symbols[r.Source].Name)
	}
	// Output:
	// class  Store(Base) 2 5
	// method Store get(self, key: str) -> bytes 3 5
	// type_ref  Base in Store
	// type_ref  str in get
	// type_ref  bytes in get
	// call self.disk read in get
}
