package search

import (
	"bytes"
	"encoding/binary"
	mathbits "math/bits"
)

// Postings are the skills that have a word, in blocks of consecutive ids. A block is bytes: 1 and for each skill, by its id, how far it is from
// the one before and its field, as a varint; or, where that would be longer, 2 and a bit for each skill in each of the three fields.
const (
	blockSkills = 16384
	setBytes    = blockSkills / 8
	listed, set = 1, 2
)

// A posting is the field by which a skill, by its place in a block, is in; 0 if it is not.
type posting struct {
	at uint16
	in field
}

// changeBlock returns a block after changes, whose places ascend; nil if no skill is in it any more.
func changeBlock(raw []byte, changes []posting) ([]byte, error) {
	if len(raw) == 1+fields*setBytes && raw[0] == set {
		return changeSet(raw, changes)
	}
	list := make([]byte, 1, len(raw)+3*len(changes)+1)
	list[0] = listed
	end := 0
	add := func(p posting) {
		if p.in != 0 {
			list = binary.AppendUvarint(list, uint64(int(p.at)-end)<<2|uint64(p.in))
			end = int(p.at) + 1
		}
	}
	upTo := func(at int) {
		for ; len(changes) > 0 && int(changes[0].at) < at; changes = changes[1:] {
			add(changes[0])
		}
	}
	if len(raw) > 0 {
		if err := readBlock(raw, func(i int, in field) {
			upTo(i)
			if len(changes) > 0 && int(changes[0].at) == i {
				return
			}
			add(posting{uint16(i), in})
		}); err != nil {
			return nil, err
		}
	}
	switch upTo(blockSkills); {
	case len(list) == 1:
		return nil, nil
	case len(list) <= 1+fields*setBytes:
		return list, nil
	}
	all := make([]byte, 1+fields*setBytes)
	all[0] = set
	err := readBlock(list, func(i int, in field) { putBits(all, i, in) })
	return all, err
}

// changeSet is changeBlock for a block that has a bit for each skill. It stays one while it has so many skills that a list would not be much shorter.
func changeSet(raw []byte, changes []posting) ([]byte, error) {
	raw = bytes.Clone(raw)
	for _, p := range changes {
		putBits(raw, int(p.at), p.in)
	}
	n := 0
	for i := 1; i <= setBytes; i++ {
		n += mathbits.OnesCount8(raw[i])
	}
	if n > setBytes/2 {
		return raw, nil
	}
	var all []posting
	err := readBlock(raw, func(i int, in field) { all = append(all, posting{uint16(i), in}) })
	if err != nil {
		return nil, err
	}
	return changeBlock(nil, all)
}

// putBits stores the field of a skill in a block that has a bit for each skill in each field.
func putBits(raw []byte, i int, in field) {
	for f := anywhere; f <= named; f++ {
		at := 1 + setBytes*(int(f)-1) + i/8
		raw[at] &^= 1 << (i % 8)
		if in >= f {
			raw[at] |= 1 << (i % 8)
		}
	}
}

// readBlock calls visit for each skill in a block.
func readBlock(raw []byte, visit func(i int, in field)) error {
	switch {
	case len(raw) == 0:
		return errDamaged
	case raw[0] == set && len(raw) == 1+fields*setBytes:
		for i := range blockSkills {
			for f := named; f > 0; f-- {
				if raw[1+setBytes*(int(f)-1)+i/8]>>(i%8)&1 != 0 {
					visit(i, f)
					break
				}
			}
		}
		return nil
	case raw[0] != listed:
		return errDamaged
	}
	next := uint64(0)
	for raw = raw[1:]; len(raw) > 0; {
		n, size := binary.Uvarint(raw)
		if size <= 0 || n>>2 >= blockSkills || next+n>>2 >= blockSkills || n&3 == 0 {
			return errDamaged
		}
		raw = raw[size:]
		next += n >> 2
		visit(int(next), field(n&3))
		next++
	}
	return nil
}

// addBlock adds the skills of a block to those of each field, which are so many bits.
func addBlock(to [fields][]uint64, raw []byte) error {
	if len(raw) == 1+fields*setBytes && raw[0] == set {
		for f := range to {
			part := raw[1+setBytes*f:]
			for i := range to[f] {
				to[f][i] |= binary.LittleEndian.Uint64(part[8*i:])
			}
		}
		return nil
	}
	return readBlock(raw, func(i int, in field) {
		for f := range in {
			to[f][i/64] |= 1 << (i % 64)
		}
	})
}
