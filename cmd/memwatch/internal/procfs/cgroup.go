package procfs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A Place is where a process runs. What is not known is empty.
type Place struct {
	Container string // its id, 64 hexadecimal digits
	PodUID    string
	Namespace string
	Pod       string // its name
}

var (
	containerID = regexp.MustCompile(`(?:^|[/-])([0-9a-f]{64})(?:\.scope)?$`)
	podUID      = regexp.MustCompile(`[/-]pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?:/|$)`)
)

// ParseCgroup finds the container and the pod in the text of /proc/PID/cgroup, as
// container runtimes name them: with systemd or without, in both versions of cgroups.
func ParseCgroup(text string) (p Place) {
	for line := range strings.Lines(text) {
		_, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "::")
		if path == "" {
			if f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3); len(f) == 3 {
				path = f[2]
			}
		}
		// The process may be in a group of its container's own, below the container's.
		for dir := path; len(dir) > 1; dir = filepath.Dir(dir) {
			if m := containerID.FindStringSubmatch(dir); m != nil && p.Container == "" {
				p.Container = m[1]
				break
			}
		}
		if m := podUID.FindStringSubmatch(path); m != nil && p.PodUID == "" {
			p.PodUID = strings.ReplaceAll(m[1], "_", "-")
		}
	}
	return p
}

// Name looks the pod's name up in a kubelet's folder of logs, in which each pod has one
// that is called NAMESPACE_NAME_UID. So no rights on the cluster are needed.
func (p *Place) Name(logs string) {
	if p.PodUID == "" || logs == "" {
		return
	}
	found, err := filepath.Glob(filepath.Join(logs, "*_*_"+p.PodUID))
	if err != nil || len(found) != 1 {
		return
	}
	if f := strings.Split(filepath.Base(found[0]), "_"); len(f) == 3 {
		p.Namespace, p.Pod = f[0], f[1]
	}
}

// maxCgroup bounds what is read of a process's groups.
const maxCgroup = 16 << 10

// ReadPlace returns where a process runs.
func ReadPlace(pid int, logs string) (p Place) {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return p
	}
	defer f.Close()
	b := make([]byte, maxCgroup)
	n, _ := f.Read(b)
	p = ParseCgroup(string(b[:n]))
	p.Name(logs)
	return p
}
