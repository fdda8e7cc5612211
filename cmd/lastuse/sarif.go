package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/apply"
	"github.com/lastuse/lastuse/escape"
)

// The part of SARIF 2.1.0 that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool `json:"tool"`
		ColumnKind string    `json:"columnKind"`
		// Without it, a run that broke off looks like one that found nothing, and
		// code scanning closes what it had.
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool `json:"executionSuccessful"`
		ExitCode            int  `json:"exitCode"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		FullDescription  sarifText `json:"fullDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		RelatedLocations    []sarifLocation   `json:"relatedLocations,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		ID               int           `json:"id,omitempty"`
		PhysicalLocation sarifPhysical `json:"physicalLocation"`
		Message          *sarifText    `json:"message,omitempty"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

// fingerprint is the name under which results carry their fingerprint; its
// number changes with what goes into it.
const fingerprint = "lastuse/v1"

// githubFingerprint is the only name that GitHub's code scanning looks at; it
// wants a hash, a colon and a number. Without it GitHub hashes the line.
const githubFingerprint = "primaryLocationLineHash"

// sarifFile writes the file that -sarif names, if it names one. The code is the exit
// status that the run will have if nothing fails.
func (c *command) sarifFile(findings []*finding, code int) {
	if c.sarif == "" {
		return
	}
	if err := c.writeSARIF(findings, code); err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err // the path may be that of a temporary file
		}
		c.fail("-sarif: %s: %v", c.sarif, err)
	}
}

// writeSARIF writes findings for code scanning. A fingerprint is made of the
// function, the variable, its type and the category, and of the position among
// equals: none of these moves when lines are added above, or when the rewriter
// has been at other buffers.
func (c *command) writeSARIF(findings []*finding, code int) error {
	driver := sarifDriver{Name: "lastuse", InformationURI: "https://github.com/lastuse/lastuse"}
	index := map[string]int{}
	for i, category := range escape.Categories {
		index[category] = i
		topic := topics[category]
		driver.Rules = append(driver.Rules, sarifRule{category, sarifText{topic.short}, sarifText{strings.TrimSpace(topic.long)}})
	}
	run := sarifRun{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
		Invocations: []sarifInvocation{{ExecutionSuccessful: !c.failed, ExitCode: c.status(code)}}}
	equals := map[string]int{}
	for _, f := range findings {
		key := strings.Join([]string{f.Category, f.fn.Name, bufferName(f)}, "\x00")
		equals[key]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, equals[key]))
		level := "warning"
		if f.Category == escape.CategoryUseAfterFree || f.Category == escape.CategoryDoubleFree {
			level = "error"
		}
		r := sarifResult{
			RuleID: f.Category, RuleIndex: index[f.Category], Level: level,
			Message:   sarifText{f.Message},
			Locations: []sarifLocation{{PhysicalLocation: c.physical(f, f.Pos, cmp.Or(f.End, f.Pos))}},
			PartialFingerprints: map[string]string{
				fingerprint:       hex.EncodeToString(sum[:16]),
				githubFingerprint: hex.EncodeToString(sum[:8]) + ":1",
			},
		}
		add := func(pos token.Pos, text string) {
			if pos.IsValid() {
				r.RelatedLocations = append(r.RelatedLocations, sarifLocation{
					ID: len(r.RelatedLocations) + 1, PhysicalLocation: c.physical(f, pos, pos), Message: &sarifText{text},
				})
			}
		}
		for _, rel := range f.Related {
			add(rel.Pos, rel.Message)
		}
		if f.Buffer != nil {
			for _, step := range f.Buffer.Path {
				add(step.Pos, step.Text)
			}
		}
		run.Results = append(run.Results, r)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
	if err != nil {
		return err
	}
	name := c.sarif
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.dir, name)
	}
	return apply.WriteWhole(name, b.Bytes())
}

func bufferName(f *finding) string {
	if f.Buffer == nil {
		return ""
	}
	return f.Buffer.Name + "\x00" + f.Buffer.Type
}

// physical returns a place as SARIF wants it: names with slashes relative to
// the top of the checkout, columns in characters.
func (c *command) physical(f *finding, pos, end token.Pos) sarifPhysical {
	p, e := f.unit.Prog.Fset.Position(pos), f.unit.Prog.Fset.Position(end)
	region := sarifRegion{StartLine: c.moved.Position(p).Line, StartColumn: c.column(f, pos, p)}
	if end > pos && e.Filename == p.Filename {
		region.EndLine, region.EndColumn = c.moved.Position(e).Line, c.column(f, end, e)
	}
	name := p.Filename
	artifact := sarifArtifact{URI: uri(name)}
	base := apply.PatchBase(c.dir, c.dir)
	if rel, err := filepath.Rel(base, name); err == nil && filepath.IsLocal(rel) {
		artifact = sarifArtifact{URI: uri(rel), URIBaseID: "%SRCROOT%"}
	}
	return sarifPhysical{artifact, region}
}

// column turns bytes into characters.
func (c *command) column(f *finding, pos token.Pos, p token.Position) int {
	fset := f.unit.Prog.Fset
	tf := fset.File(pos)
	physical := fset.PositionFor(pos, false)
	if physical.Filename != p.Filename || physical.Line != p.Line || physical.Column != p.Column {
		return p.Column // //line or cgo: the text is elsewhere
	}
	src := f.unit.Prog.Text(tf.Name())
	start := tf.Offset(tf.LineStart(physical.Line))
	at := tf.Offset(pos)
	if at > len(src) {
		return p.Column
	}
	return utf8.RuneCount(src[start:at]) + 1
}

func uri(name string) string {
	var b strings.Builder
	for _, c := range []byte(filepath.ToSlash(name)) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/-._~+@=,", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
