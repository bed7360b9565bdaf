package sandbox

// tiers are those that this machine has, best first.
func tiers() []Tier {
	switch best := Probe().Tier; best {
	case Tier1:
		return []Tier{Tier1, Tier2, Tier3}
	case Tier2:
		return []Tier{Tier2, Tier3}
	case None:
		return nil
	default:
		return []Tier{best}
	}
}
