package skillsearch

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTmpCommon(t *testing.T) {
	re := regexp.MustCompile(`[a-zA-Z]+`)
	all := corpus(t)
	out, body := map[string]int{}, map[string]int{}
	n := 0
	for _, k := range all {
		if judging(k.Name) {
			continue
		}
		n++
		o, b := map[string]bool{}, map[string]bool{}
		for _, w := range re.FindAllString(k.Name+" "+k.Description+" "+strings.Join(k.Headings, " "), -1) {
			o[strings.ToLower(w)] = true
		}
		for _, w := range re.FindAllString(string(k.Body), -1) {
			b[strings.ToLower(w)] = true
		}
		for w := range o {
			out[w]++
		}
		for w := range b {
			if !o[w] {
				body[w]++
			}
		}
	}
	share := map[string]int{}
	for w, c := range body {
		if len(w) > 2 {
			share[w] = int((float64(out[w])*.5 + float64(c)*.15) / float64(n) * 1000)
		}
	}
	byLevel := map[int][]string{}
	for w, s := range share {
		for _, l := range []int{200, 150, 100, 70, 50, 35, 25, 18} {
			if s >= l {
				byLevel[l] = append(byLevel[l], w)
				break
			}
		}
	}
	var sb strings.Builder
	for _, l := range []int{200, 150, 100, 70, 50, 35, 25, 18} {
		slices.Sort(byLevel[l])
		fmt.Fprintf(&sb, "%d %s\n", l, strings.Join(byLevel[l], " "))
	}
	os.WriteFile("/tmp/ss/common.txt", []byte(sb.String()), 0o644)
}
