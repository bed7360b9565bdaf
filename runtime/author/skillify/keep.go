package skillify

import "strings"

// keepOpen and keepClose are lines around text of a person that stays whatever the package does.
const (
	keepOpen  = "<!-- skl:keep -->"
	keepClose = "<!-- /skl:keep -->"
)

// A region is text that stays: its lines with their marks, and the line that it follows, "" at the start.
type region struct {
	text  string
	after string
}

// kept takes the regions out of a text. One that is not closed goes on to the end. An empty line that a region leaves behind another one goes.
func kept(text string) (regions []region, bare string) {
	if !strings.Contains(text, keepOpen) {
		return nil, text
	}
	var w, in strings.Builder
	inside, after, blank := false, "", false
	left := false // a region was taken out here
	for line := range strings.Lines(text) {
		mark := strings.TrimSpace(line)
		switch {
		case !inside && mark == keepOpen:
			inside = true
			in.Reset()
			in.WriteString(line)
		case inside:
			in.WriteString(line)
			if mark == keepClose {
				inside, left = false, true
				regions = append(regions, region{in.String(), after})
			}
		case left && mark == "" && (blank || w.Len() == 0):
			left = false
		default:
			left = false
			w.WriteString(line)
			if blank = mark == ""; !blank {
				after = line
			}
		}
	}
	if inside {
		regions = append(regions, region{in.String(), after})
	}
	return regions, w.String()
}

// placed puts regions into a text: each behind the line that it followed, and at the end where there is no such line.
func placed(text string, regions []region) string {
	if len(regions) == 0 {
		return text
	}
	behind := map[string][]region{}
	for _, r := range regions {
		behind[strings.TrimSpace(r.after)] = append(behind[strings.TrimSpace(r.after)], r)
	}
	var w strings.Builder
	put := func(list []region) {
		if len(list) == 0 {
			return
		}
		if s := w.String(); s != "" && !strings.HasSuffix(s, "\n") {
			w.WriteByte('\n')
		}
		if s := w.String(); s != "" && !strings.HasSuffix(s, "\n\n") {
			w.WriteByte('\n')
		}
		w.WriteString(regionsText(list))
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		w.WriteString(line)
		key := strings.TrimSpace(line)
		if list := behind[key]; key != "" && list != nil {
			put(list)
			if i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" {
				w.WriteByte('\n')
			}
			delete(behind, key)
		}
	}
	var rest []region
	for _, r := range regions {
		if behind[strings.TrimSpace(r.after)] != nil {
			rest = append(rest, r)
		}
	}
	put(rest)
	return w.String()
}

func regionsText(list []region) string {
	var w strings.Builder
	for i, r := range list {
		if i > 0 {
			w.WriteByte('\n')
		}
		w.WriteString(r.text)
		if !strings.HasSuffix(r.text, "\n") {
			w.WriteByte('\n')
		}
	}
	return w.String()
}
