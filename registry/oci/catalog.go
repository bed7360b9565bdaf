package oci

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// catalog lists repositories, with the pages that clients know from the distribution project's registry.
func (q *request) catalog() error {
	query, err := q.query()
	if err != nil {
		return err
	}
	limit, err := pageSize(query)
	if err != nil {
		return err
	}
	list, err := q.h.Registry.Repositories(q.r.Context(), q.who, query.Get("last"), int(limit)+1)
	if err != nil {
		return err
	}
	if int64(len(list)) > limit {
		list = list[:limit]
		if limit > 0 {
			next := url.Values{"n": {itoa(limit)}, "last": {list[limit-1]}}
			q.w.Header().Set("Link", "</v2/_catalog?"+next.Encode()+`>; rel="next"`)
		}
	}
	if list == nil {
		list = []string{}
	}
	content, err := json.Marshal(map[string][]string{"repositories": list})
	if err != nil {
		return err
	}
	q.w.Header().Set("Cache-Control", "no-cache")
	q.json(http.StatusOK, "application/json", content)
	return nil
}
