package author

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// places are the files of a draft before and after, where some moved to the present layout.
type places struct {
	to       map[string]string // of each file that moved
	was, now map[string]bool
}

// placesOf are those of a draft, nil if nothing moved. That is told by the paths of its changes alone, whoever made them.
func placesOf(d *Draft, changes []Change) (*places, error) {
	p := &places{to: map[string]string{}}
	comes := map[string]bool{}
	for _, c := range changes {
		comes[c.Path] = c.Was == nil && c.Now != nil
	}
	for _, c := range changes {
		if to := presentPath(c.Path); c.Now == nil && comes[to] {
			p.to[c.Path] = to
		}
	}
	if len(p.to) == 0 {
		return nil, nil
	}
	var err error
	if p.was, err = filesIn(d.Before()); err == nil {
		p.now, err = filesIn(d.FS())
	}
	return p, err
}

func filesIn(fsys fs.FS) (map[string]bool, error) {
	files := map[string]bool{}
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[name] = true
		}
		return err
	})
	return files, err
}

// before is a text of the file name as it is, with the present path of each file that it names; after is one as it shall be, with the same.
func (p *places) before(name, text string) string { return p.named(name, text, p.was, p.to) }
func (p *places) after(name, text string) string  { return p.named(name, text, p.now, nil) }

// sentences are those of a text as it is, which are compared by the present paths.
func (p *places) sentences(name, text string) []sentence {
	if p == nil {
		return sentences(text)
	}
	out := allSentences(text)
	if now := allSentences(p.before(name, text)); len(now) == len(out) {
		for i := range out {
			out[i].words = now[i].words
		}
	}
	return slices.DeleteFunc(out, sentence.short)
}

func (p *places) named(holder, text string, files map[string]bool, to map[string]string) string {
	var b strings.Builder
	at := 0
	for _, m := range mentions(text) {
		if !strings.ContainsAny(m.word, "/.") {
			continue
		}
		file := path.Clean(m.word)
		if !files[file] {
			if file = path.Join(path.Dir(holder), m.word); !files[file] {
				continue
			}
		}
		if to[file] != "" {
			file = to[file]
		}
		b.WriteString(text[at:m.at] + file)
		at = m.end
	}
	return b.String() + text[at:]
}
