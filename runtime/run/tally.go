package run

import (
	"time"
)

// tally sums up the visits of nodes.
type tally struct {
	Nodes []NodeResult    `json:"nodes,omitempty"`
	Took  []time.Duration `json:"took,omitempty"` // of each of Nodes
	at    map[string]int
}

func (t *tally) add(id, kind string, status Status, took time.Duration) {
	if t.at == nil {
		t.at = make(map[string]int, len(t.Nodes))
		for i, n := range t.Nodes {
			t.at[n.ID] = i
		}
	}
	i, ok := t.at[id]
	if !ok {
		i = len(t.Nodes)
		t.at[id] = i
		t.Nodes, t.Took = append(t.Nodes, NodeResult{ID: id, Kind: kind}), append(t.Took, 0)
	}
	t.Nodes[i].Status = status
	t.Nodes[i].Visits++
	t.Took[i] += took
}

// merge adds the visits of a child of PARALLEL.
func (t *tally) merge(c tally) {
	for i, n := range c.Nodes {
		t.add(n.ID, n.Kind, n.Status, c.Took[i])
		t.Nodes[t.at[n.ID]].Visits += n.Visits - 1
	}
}
