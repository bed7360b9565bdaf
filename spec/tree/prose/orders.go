package prose

import "strings"

// instructs reports whether an entry of a list says what to do: it begins with a verb in the imperative, or with the case in which
// something is done. Of "**Label**: text" both are looked at.
func instructs(text string) bool {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(text, "[ ] "), "[x] "))
	if begins(text) {
		return true
	}
	if !strings.HasPrefix(text, "**") && !strings.HasPrefix(text, "__") {
		return false
	}
	_, rest, ok := strings.Cut(text[2:], text[:2])
	word, _, _ := strings.Cut(strings.TrimLeft(rest, " :–—-."), " ")
	return ok && isVerb(strings.ToLower(strings.TrimRight(word, "*_:,.;")))
}

func isVerb(word string) bool { return orders()[word] || moreOrders()[word] || firstVerbs()[word] }

// begins reports whether a text begins with such a verb or case.
func begins(text string) bool {
	word, rest, _ := strings.Cut(strings.TrimLeft(text, "*_\"“ "), " ")
	word = strings.ToLower(strings.TrimRight(word, "*_:,.;\"”"))
	switch word {
	case "first", "first,", "then", "then,", "next", "next,", "finally", "now", "always", "also", "optionally", "immediately", "carefully", "briefly", "clearly", "explicitly":
		second, _, _ := strings.Cut(strings.TrimLeft(rest, "*_, "), " ")
		word = strings.ToLower(strings.TrimRight(second, "*_:,.;"))
	}
	return isVerb(word) || onlyWhere(word) && word != "without" && word != "only"
}

// mostlyOrders reports whether two of three entries of a list say what to do.
func (c *reader) mostlyOrders(l listing) bool {
	n, all := 0, 0
	for entry := range c.entries(l) {
		all++
		if instructs(entry) {
			n++
		}
	}
	return n*3 >= all*2
}

// firstVerbs begin a step, and are too often something else anywhere but at its start.
var firstVerbs = wordSet(`accept access acknowledge activate adapt address adopt aggregate align allocate allow analyse annotate answer approve arrange
	assemble assert assess attach attempt audit authenticate await backup bind book branch break browse bundle calculate cite classify
	clear click close cluster complete compose compress conduct connect consolidate construct continue correct cross-check customise
	customize cut decompose deduplicate deliver demonstrate design develop diagnose discover discuss dispatch distinguish divide do
	draw dry-run elaborate eliminate embed encode enforce enrich enumerate establish estimate examine expect expose extend figure
	filter finalize finish force formulate go grep hand host improve incorporate index initialise initialize inject inline instruct
	integrate interpret interview introduce isolate iterate justify label lay listen loop lower measure mend minimise minimize mirror
	mock narrow navigate normalise normalize obtain open optimise optimize order organise organize outline override package paste
	persist play plot poll post press prevent preview prioritise prioritize probe proceed process produce profile protect prove
	provision quote rank rate re-run reason reboot recall receive recheck reconcile refine reflect register release remember rephrase
	reproduce require restate restructure roll route sanitize say scaffold schedule score scroll separate serve share ship simplify
	simulate sketch solve spawn stage stay stream structure study substitute summarise supply support survey synthesise synthesize
	tailor target think tidy toggle trace train transform triage tune type understand unpack visit weigh wire zip`)
