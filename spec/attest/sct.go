package attest

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// An sct is a certificate log's promise to publish a certificate: RFC 6962,
// section 3.2, for a precertificate.
type sct struct {
	logID      []byte // 32 bytes
	millis     uint64 // since 1970
	when       time.Time
	extensions []byte
	signature  []byte // ASN.1, ECDSA over SHA-256
}

// covers is what the log signed: tbs is the certificate's signed part without
// the list of promises, which did not exist at that time.
func (s sct) covers(issuerKeyHash, tbs []byte) []byte {
	b := []byte{0, 0} // version 1, certificate_timestamp
	b = binary.BigEndian.AppendUint64(b, s.millis)
	b = append(b, 0, 1) // precert_entry
	b = append(b, issuerKeyHash...)
	b = append(b, byte(len(tbs)>>16), byte(len(tbs)>>8), byte(len(tbs)))
	b = append(b, tbs...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.extensions)))
	return append(b, s.extensions...)
}

// sctList is the OID of the extension that holds the list.
func sctList() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
}

var errSCT = errors.New("its list of certificate timestamps is damaged")

// splitSCTs returns the promises in c and what they cover.
func splitSCTs(c *x509.Certificate) ([]sct, []byte, error) {
	var value []byte
	for _, e := range c.Extensions {
		if e.Id.Equal(sctList()) {
			value = e.Value
		}
	}
	if value == nil {
		return nil, nil, errors.New("it has no certificate timestamp")
	}
	var raw []byte
	if rest, err := asn1.Unmarshal(value, &raw); err != nil || len(rest) > 0 {
		return nil, nil, errSCT
	}
	list, err := parseSCTs(raw)
	if err != nil {
		return nil, nil, err
	}
	tbs, err := withoutExtension(c.RawTBSCertificate, sctList())
	return list, tbs, err
}

// parseSCTs reads the TLS form: a list, and each item, preceded by its length.
func parseSCTs(raw []byte) ([]sct, error) {
	all, rest, ok := vector(raw)
	if !ok || len(rest) > 0 {
		return nil, errSCT
	}
	var list []sct
	for len(all) > 0 {
		var item []byte
		if item, all, ok = vector(all); !ok || len(item) < 1+32+8+2 {
			return nil, errSCT
		}
		if item[0] != 0 {
			continue // another version than 1
		}
		s := sct{logID: item[1:33], millis: binary.BigEndian.Uint64(item[33:41])}
		if s.millis > 1<<52 {
			return nil, errSCT
		}
		s.when = time.UnixMilli(int64(s.millis))
		if s.extensions, item, ok = vector(item[41:]); !ok || len(item) < 4 {
			return nil, errSCT
		}
		sha256ECDSA := item[0] == 4 && item[1] == 3
		if s.signature, rest, ok = vector(item[2:]); !ok || len(rest) > 0 {
			return nil, errSCT
		}
		if sha256ECDSA {
			list = append(list, s)
		}
	}
	return list, nil
}

// vector cuts off bytes that are preceded by a length of two bytes.
func vector(b []byte) (item, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if b = b[2:]; len(b) < n {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// withoutExtension is the TBSCertificate tbs with one extension left out and
// every other byte as it was.
func withoutExtension(tbs []byte, id asn1.ObjectIdentifier) ([]byte, error) {
	fields, err := children(tbs)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(fields, func(f asn1.RawValue) bool {
		return f.Class == asn1.ClassContextSpecific && f.Tag == 3 // extensions, RFC 5280 section 4.1
	})
	if i < 0 {
		return nil, errSCT
	}
	extensions, err := children(fields[i].Bytes)
	if err != nil {
		return nil, err
	}
	var kept []byte
	for _, e := range extensions {
		var own asn1.ObjectIdentifier
		if _, err := asn1.Unmarshal(e.Bytes, &own); err != nil {
			return nil, errSCT
		}
		if !own.Equal(id) {
			kept = append(kept, e.FullBytes...)
		}
	}
	sequence, err := wrap(asn1.ClassUniversal, asn1.TagSequence, kept)
	if err != nil {
		return nil, err
	}
	var out []byte
	for j, f := range fields {
		if j == i {
			if f.FullBytes, err = wrap(asn1.ClassContextSpecific, 3, sequence); err != nil {
				return nil, err
			}
		}
		out = append(out, f.FullBytes...)
	}
	return wrap(asn1.ClassUniversal, asn1.TagSequence, out)
}

// children are the elements of an ASN.1 SEQUENCE.
func children(der []byte) ([]asn1.RawValue, error) {
	var outer asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &outer); err != nil || len(rest) > 0 || outer.Tag != asn1.TagSequence {
		return nil, errSCT
	}
	var list []asn1.RawValue
	for rest := outer.Bytes; len(rest) > 0; {
		var one asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &one); err != nil {
			return nil, errSCT
		}
		list = append(list, one)
	}
	return list, nil
}

func wrap(class, tag int, content []byte) ([]byte, error) {
	return asn1.Marshal(asn1.RawValue{Class: class, Tag: tag, IsCompound: true, Bytes: content})
}
