package main

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/metrics"
)

type port struct {
	Name          string
	ContainerPort int `yaml:"containerPort"`
}

// A manifest is what the test looks at in the files for Kubernetes.
type manifest struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				HostPID                      bool  `yaml:"hostPID"`
				AutomountServiceAccountToken *bool `yaml:"automountServiceAccountToken"`
				Containers                   []struct {
					Args            []string
					Ports           []port
					SecurityContext struct {
						Privileged               *bool
						AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
						Capabilities             struct{ Add, Drop []string }
						SeccompProfile           struct{ Type string } `yaml:"seccompProfile"`
						AppArmorProfile          struct{ Type string } `yaml:"appArmorProfile"`
					} `yaml:"securityContext"`
					VolumeMounts []struct {
						Name     string
						Path     string `yaml:"mountPath"`
						ReadOnly bool   `yaml:"readOnly"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name   string
					Secret struct {
						Name string `yaml:"secretName"`
					}
					HostPath struct{ Path string } `yaml:"hostPath"`
				}
			}
		}
		PodMetricsEndpoints []struct {
			Port, Path  string
			HonorLabels bool                       `yaml:"honorLabels"`
			Bearer      struct{ Name, Key string } `yaml:"bearerTokenSecret"`
		} `yaml:"podMetricsEndpoints"`
	}
}

// TestManifest holds the files for a cluster to the command: the arguments parse, the
// token is the secret's, and the container asks for no more than it says.
func TestManifest(t *testing.T) {
	f, err := os.Open("deploy/daemonset.yaml")
	require.NoError(t, err)
	defer f.Close()
	all := make(map[string]manifest)
	for d := yaml.NewDecoder(f); ; {
		var m manifest
		err := d.Decode(&m)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		all[m.Kind] = m
	}
	pod := all["DaemonSet"].Spec.Template.Spec
	require.True(t, pod.HostPID, "processes of other containers are to be seen")
	require.False(t, *pod.AutomountServiceAccountToken, "it does not talk to the cluster")
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	conf, err := parse(c.Args)
	require.NoError(t, err)
	require.True(t, conf.watches())
	require.Equal(t, "serve", conf.command)
	require.False(t, *c.SecurityContext.Privileged)
	require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
	require.True(t, c.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, []string{"BPF", "PERFMON", "SYS_PTRACE"}, c.SecurityContext.Capabilities.Add)
	require.Equal(t, []string{"ALL"}, c.SecurityContext.Capabilities.Drop)
	require.Equal(t, "RuntimeDefault", c.SecurityContext.SeccompProfile.Type)
	require.NotEmpty(t, c.SecurityContext.AppArmorProfile.Type)

	var mounted, volumes []string
	secret := ""
	for _, m := range c.VolumeMounts {
		require.True(t, m.ReadOnly, m.Name)
		mounted = append(mounted, m.Name)
		if strings.HasPrefix(conf.tokenFile, m.Path+"/") {
			secret = m.Name
		}
	}
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
		if v.Name == secret {
			require.Equal(t, "memwatch", v.Secret.Name)
		}
	}
	require.ElementsMatch(t, mounted, volumes)
	require.NotEmpty(t, secret, "the token comes from a secret")
	scrape := all["PodMonitor"].Spec.PodMetricsEndpoints[0]
	require.Equal(t, "memwatch", scrape.Bearer.Name, "the same secret")
	require.Equal(t, conf.tokenFile[strings.LastIndexByte(conf.tokenFile, '/')+1:], scrape.Bearer.Key)
	require.Equal(t, "/metrics", scrape.Path)
	require.True(t, scrape.HonorLabels, "pod and namespace are the process's")
	require.True(t, slices.ContainsFunc(c.Ports, func(p port) bool {
		return p.Name == scrape.Port && strings.HasSuffix(conf.listen, ":8765") && p.ContainerPort == 8765
	}))
}

// TestDashboard holds the dashboard to the metrics: each name and label in it is one that
// memwatch writes.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile("deploy/grafana.json")
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal(b, &board))
	events, err := os.Open("internal/render/testdata/session.log")
	require.NoError(t, err)
	defer events.Close()
	h := heap.New(heap.Options{})
	require.NoError(t, heap.ParseLog(events, h.Apply))
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.Of(h.Snapshot(heap.Query{}), map[string]uint64{"cuMemAlloc_v2": 1}))
	families, err := registry.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, board.Panels)
	known := map[string]bool{"instance": true} // which Prometheus adds
	metric := map[string]bool{}
	for _, f := range families {
		metric[f.GetName()] = true
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				known[l.GetName()] = true
			}
		}
	}
	for _, p := range board.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			names := regexp.MustCompile(`(memwatch|foreignheap)_[a-z_]+`).FindAllString(target.Expr, -1)
			require.NotEmpty(t, names, p.Title)
			for _, n := range names {
				require.True(t, metric[n], n)
			}
			labels := regexp.MustCompile(`{{([a-z_]+)}}`).FindAllStringSubmatch(target.LegendFormat, -1)
			for _, by := range regexp.MustCompile(`by \(([a-z_, ]+)\)`).FindAllStringSubmatch(target.Expr, -1) {
				for _, l := range strings.Split(by[1], ", ") {
					labels = append(labels, []string{"", l})
				}
			}
			for _, l := range labels {
				require.True(t, known[l[1]], "%s: no metric has the label %s", p.Title, l[1])
			}
		}
	}
}
