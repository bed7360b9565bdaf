package meta

import (
	"context"
	"time"
)

// An Advisory is a warning about releases of a skill. It is stored as JSON.
type Advisory struct {
	ID        string    `json:"id"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`               // of the skill
	Versions  string    `json:"versions,omitempty"` // a constraint of semantic versions, pre-releases among them
	Digests   []string  `json:"digests,omitempty"`  // of manifests, layers or trees
	Severity  string    `json:"severity"`           // low, medium, high, critical
	Summary   string    `json:"summary"`
	Fixed     string    `json:"fixed,omitempty"` // version
	Published time.Time `json:"published"`
	Modified  time.Time `json:"modified"`
	Withdrawn time.Time `json:"withdrawn,omitzero"`
	Reason    string    `json:"reason,omitempty"` // why it was withdrawn
}

// PutAdvisory stores a, as a new one or in place of the one of its id. The error of the first is ErrExists, of the second ErrNotFound.
func (tx *Tx) PutAdvisory(ctx context.Context, a Advisory, isNew bool) error {
	if isNew {
		return tx.insert(ctx, `INSERT INTO advisories (id, namespace, data) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, a.ID, a.Namespace, encode(a, false))
	}
	return tx.change(ctx, `UPDATE advisories SET data = $2 WHERE id = $1`, a.ID, encode(a, false))
}

// Advisories lists those about skills of a namespace by id; "" is all.
func (tx *Tx) Advisories(ctx context.Context, namespace string) (all []Advisory, err error) {
	err = tx.each(ctx, func(r row) error {
		var a Advisory
		err := r.Scan(decoder{&a})
		all = append(all, a)
		return err
	}, `SELECT data FROM advisories WHERE $1 = '' OR namespace = $1 ORDER BY id`, namespace)
	return all, err
}
