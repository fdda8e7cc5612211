package heap

import "strings"

// A Place is where a process runs. What is not known is empty.
type Place struct {
	Container string `json:"container,omitempty"` // its id
	PodUID    string `json:"podUID,omitempty"`
	Namespace string `json:"namespace,omitempty"` // of the pod
	Pod       string `json:"pod,omitempty"`       // its name
}

// fields are the words of a Place's text, with what they are about.
func (p *Place) fields() []struct {
	key string
	to  *string
} {
	return []struct {
		key string
		to  *string
	}{{"container", &p.Container}, {"uid", &p.PodUID}, {"namespace", &p.Namespace}, {"pod", &p.Pod}}
}

// String returns the text of a Placed event: "key=value" for all that is known.
func (p Place) String() string {
	var words []string
	for _, f := range p.fields() {
		if *f.to != "" {
			words = append(words, f.key+"="+strings.Join(strings.Fields(*f.to), "_"))
		}
	}
	return strings.Join(words, " ")
}

// parsePlace reads such a text. Other words are passed over.
func parsePlace(text string) (p Place) {
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		for _, f := range p.fields() {
			if f.key == key {
				*f.to = value
			}
		}
	}
	return p
}
