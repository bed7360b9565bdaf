package meta

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

const skillColumns = `s.namespace, s.name, s.latest, s.description, s.license, s.keywords, s.signed, s.state, s.versions, s.downloads, s.updated`

func (s *Skill) columns(signed *int64) []any {
	return []any{&s.Namespace, &s.Name, &s.Latest, &s.Description, &s.License, decoder{&s.Keywords}, signed, &s.State, &s.Versions, &s.Downloads, stamp{&s.Updated}}
}

func scanSkill(r row) (s Skill, err error) {
	var signed int64
	err = r.Scan(s.columns(&signed)...)
	s.Signed = signed != 0
	return s, err
}

// Skill returns the newest listed release of a name. ErrNotFound if none is listed.
func (tx *Tx) Skill(ctx context.Context, namespace, name string) (Skill, error) {
	return one(ctx, tx, scanSkill, `SELECT `+skillColumns+` FROM skills s WHERE s.namespace = $1 AND s.name = $2`, namespace, name)
}

// Skills lists skills by "namespace/name", which after is too; namespace "" is all.
func (tx *Tx) Skills(ctx context.Context, namespace, after string, limit int) ([]Skill, error) {
	space, name := cutRepo(after)
	if namespace == "" {
		return list(ctx, tx, scanSkill, `SELECT `+skillColumns+` FROM skills s WHERE (s.namespace, s.name) > ($1, $2) ORDER BY s.namespace, s.name LIMIT $3`, space, name, bound(limit))
	}
	switch {
	case after == "" || space < namespace:
		name = ""
	case space > namespace:
		return nil, nil
	}
	return list(ctx, tx, scanSkill, `SELECT `+skillColumns+` FROM skills s WHERE s.namespace = $1 AND s.name > $2 ORDER BY s.name LIMIT $3`, namespace, name, bound(limit))
}

// UniqueSkills lists the skills of public namespaces whose names no other public namespace has, by name.
func (tx *Tx) UniqueSkills(ctx context.Context, after string, limit int) ([]Skill, error) {
	return list(ctx, tx, scanSkill, `SELECT `+skillColumns+` FROM skills s JOIN namespaces n ON n.name = s.namespace AND n.public = 1
		WHERE s.name > $1 AND NOT EXISTS (
			SELECT 1 FROM skills o JOIN namespaces p ON p.name = o.namespace AND p.public = 1 WHERE o.name = s.name AND o.namespace <> s.namespace)
		ORDER BY s.name LIMIT $2`, after, bound(limit))
}

// Search finds skills.
func (tx *Tx) Search(ctx context.Context, s Search) (Matches, error) {
	hits, err := tx.d.Search(ctx, tx.q, s)
	if err != nil {
		return Matches{}, tx.d.Err(err)
	}
	m := Matches{Skills: make([]Skill, len(hits.IDs)), Scores: hits.Scores, Total: hits.Total, Facets: hits.Facets, Relaxed: hits.Relaxed}
	if len(hits.IDs) == 0 {
		return m, nil
	}
	found := 0
	err = tx.each(ctx, func(r row) error {
		var id, signed int64
		var k Skill
		if err := r.Scan(append([]any{&id}, k.columns(&signed)...)...); err != nil {
			return err
		}
		k.Signed = signed != 0
		m.Skills[slices.Index(hits.IDs, id)] = k
		found++
		return nil
	}, `SELECT s.id, `+skillColumns+` FROM `+tx.d.Among("$1")+` CROSS JOIN skills s WHERE s.id = j.value`, Array(hits.IDs))
	if err == nil && found != len(hits.IDs) {
		err = fmt.Errorf("a skill of the search index: %w", ErrNotFound)
	}
	return m, err
}

// refreshSkill makes the rows of skills and the search index say what the releases of a name say.
func (tx *Tx) refreshSkill(ctx context.Context, namespace, name string) error {
	doc, err := one(ctx, tx, func(r row) (d Document, err error) {
		var signed, published int64
		err = r.Scan(append(d.Skill.columns(&signed), &published, &d.Text)...)
		d.Signed = signed != 0
		if d.Updated.IsZero() {
			err = errors.Join(err, stamp{&d.Updated}.Scan(published))
		}
		return d, err
	}, `SELECT r.namespace, r.name, r.version, r.description, r.license, r.keywords, r.signed, r.state,
			(SELECT count(*) FROM releases o WHERE o.namespace = $1 AND o.name = $2 AND o.state IN ('approved', 'deprecated')),
			(SELECT coalesce(sum(o.downloads), 0) FROM releases o WHERE o.namespace = $1 AND o.name = $2), r.updated, r.published, r.body
		FROM releases r WHERE r.namespace = $1 AND r.name = $2 AND r.version = (
			SELECT o.version FROM releases o WHERE o.namespace = $1 AND o.name = $2 AND o.state IN ('approved', 'deprecated')
			ORDER BY o.prerelease, o.version_key DESC, o.version DESC LIMIT 1)`, namespace, name)
	listed := !errors.Is(err, ErrNotFound)
	if err != nil && listed {
		return err
	}

	type indexed struct {
		id    int64
		skill Skill
	}
	old, err := one(ctx, tx, func(r row) (o indexed, err error) {
		var signed int64
		err = r.Scan(append([]any{&o.id}, o.skill.columns(&signed)...)...)
		o.skill.Signed = signed != 0
		return o, err
	}, `SELECT s.id, `+skillColumns+` FROM skills s WHERE s.namespace = $1 AND s.name = $2`, namespace, name)
	was := !errors.Is(err, ErrNotFound)
	if err != nil && was {
		return err
	}

	if was && listed && old.skill.Latest == doc.Latest && old.skill.Signed == doc.Signed {
		// A release never changes its text, so what search knows stays right.
		_, err := tx.exec(ctx, `UPDATE skills SET state = $2, versions = $3, downloads = $4, updated = $5 WHERE id = $1`,
			old.id, string(doc.State), doc.Versions, doc.Downloads, micros(doc.Updated))
		return err
	}
	if was && !listed {
		if err := tx.d.Unindex(ctx, tx.q, old.id); err != nil {
			return tx.d.Err(err)
		}
		_, err := tx.exec(ctx, `DELETE FROM skills WHERE id = $1`, old.id)
		return err
	}
	if !listed {
		return nil
	}
	id, err := tx.d.Index(ctx, tx.q, old.id, doc)
	if err != nil {
		return tx.d.Err(err)
	}
	_, err = tx.exec(ctx, `INSERT INTO skills (id, namespace, name, latest, description, license, keywords, signed, state, versions, downloads, updated)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (id) DO UPDATE SET latest = excluded.latest, description = excluded.description, license = excluded.license, keywords = excluded.keywords,
			signed = excluded.signed, state = excluded.state, versions = excluded.versions, downloads = excluded.downloads, updated = excluded.updated`,
		id, doc.Namespace, doc.Name, doc.Latest, doc.Description, doc.License, encode(doc.Keywords, len(doc.Keywords) == 0),
		flag(doc.Signed), string(doc.State), doc.Versions, doc.Downloads, micros(doc.Updated))
	return err
}
