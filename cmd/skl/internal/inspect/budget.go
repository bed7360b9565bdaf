package inspect

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

// BudgetLines say which agents tell their models a part only of the skills that are here.
func BudgetLines(l roots.Listing) (lines []string) {
	for _, b := range l.Budgets {
		if !b.Fits() {
			lines = append(lines, BudgetLine(b))
		}
	}
	return lines
}

// budgetMends are what helps.
func (in *Inspector) budgetMends(l roots.Listing) (mends []string) {
	for _, b := range l.Budgets {
		if !b.Fits() {
			mends = apply.AddMend(mends, in.budgetMend(b))
		}
	}
	return mends
}

// BudgetLine says what an agent tells its model of the skills that it loads, which is not all of it.
func BudgetLine(b roots.HostBudget) string {
	var parts []string
	for _, p := range []struct {
		n     int
		words string
	}{{b.Whole, "in full"}, {b.Cut, "cut short"}, {b.Named, "by name alone"}, {b.Dropped, "not at all"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.words))
		}
	}
	about, model := "", ""
	if b.About {
		about = "about "
	}
	if b.Model != "" {
		model = " (" + diag.Printable(diag.Clip(b.Model, 60)) + ")"
	}
	return fmt.Sprintf("%s tells its model of %s: %s; that list has %s%d %s%s, and %d are needed",
		hosts.NameOf(b.Host), diag.Count(b.Skills, "skill"), strings.Join(parts, ", "), about, b.Limit, b.Unit, model, b.Needs)
}

// budgetMend is what helps.
func (in *Inspector) budgetMend(b roots.HostBudget) string {
	setting, file := b.Raise(b.Needs)
	switch {
	case setting == "":
		return "skl disable NAME, for skills that are not used"
	case file == "":
		return "set " + setting + ", or skl disable NAME for skills that are not used"
	}
	return "put " + setting + " into " + in.Applier.Scope.Short(file) + ", or skl disable NAME for skills that are not used"
}

// ToldLines says which agents tell their models a part only of one of the copies.
func ToldLines(copies []roots.Record) (lines []string) {
	for _, r := range copies {
		for _, h := range r.Hosts {
			switch {
			case h.Told == nil:
			case !h.Told.Named:
				lines = append(lines, hosts.NameOf(h.Host)+" does not tell its model of it")
			case h.Told.Chars == 0:
				lines = append(lines, hosts.NameOf(h.Host)+" tells its model the name alone")
			default:
				lines = append(lines, fmt.Sprintf("%s tells its model %d of %d characters of the description", hosts.NameOf(h.Host), h.Told.Chars, h.Told.Of))
			}
		}
	}
	return lines
}
