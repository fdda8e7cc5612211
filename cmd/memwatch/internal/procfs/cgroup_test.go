package procfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCgroup(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	const uid = "0f0a1b2c-3d4e-5f60-7182-93a4b5c6d7e8"
	flat := strings.ReplaceAll(uid, "-", "_")
	for _, c := range []struct {
		name, text string
		want       Place
	}{
		{"no container", "0::/user.slice/user-1000.slice/session-3.scope\n", Place{}},
		{"root", "0::/\n", Place{}},
		{"systemd and containerd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + flat + ".slice/cri-containerd-" + id + ".scope\n", Place{Container: id, PodUID: uid}},
		{"guaranteed", "0::/kubepods.slice/kubepods-pod" + flat + ".slice/crio-" + id + ".scope\n", Place{Container: id, PodUID: uid}},
		{"cgroupfs", "0::/kubepods/besteffort/pod" + uid + "/" + id + "\n", Place{Container: id, PodUID: uid}},
		{"first version", "12:memory:/kubepods/burstable/pod" + uid + "/" + id + "\n1:name=systemd:/kubepods/burstable/pod" + uid + "/" + id + "\n", Place{Container: id, PodUID: uid}},
		{"docker", "0::/system.slice/docker-" + id + ".scope\n", Place{Container: id}},
		{"docker, first version", "4:devices:/docker/" + id + "\n", Place{Container: id}},
		{"podman", "0::/machine.slice/libpod-" + id + ".scope/container\n", Place{Container: id}},
		{"seen from another container", "0::/../../kubepods-burstable-pod" + flat + ".slice/cri-containerd-" + id + ".scope\n", Place{Container: id, PodUID: uid}},
		{"static pod", "0::/kubepods/burstable/pod" + id[:32] + "/" + id + "\n", Place{Container: id, PodUID: id[:32]}},
		{"hostile", "0::/x" + id + "0/pod;rm\x1b[2J/" + strings.Repeat("/", 100) + "\n:::\n\n::\n0:", Place{}},
	} {
		require.Equal(t, c.want, ParseCgroup(c.text), c.name)
	}
}

func TestPodName(t *testing.T) {
	logs := t.TempDir()
	for _, name := range []string{"default_trainer-0_u-1", "default_other_u-2", "a_b_c_u-3", "x_same_u-4", "y_same_u-4"} {
		require.NoError(t, os.Mkdir(filepath.Join(logs, name), 0o700))
	}
	for uid, want := range map[string]Place{
		"u-1": {PodUID: "u-1", Namespace: "default", Pod: "trainer-0"},
		"u-9": {PodUID: "u-9"},
		"u-3": {PodUID: "u-3"},
		"u-4": {PodUID: "u-4"},
		"":    {},
	} {
		p := Place{PodUID: uid}
		p.Name(logs)
		require.Equal(t, want, p)
	}
	require.NotPanics(t, func() { ReadPlace(os.Getpid(), logs) })
	require.Equal(t, Place{}, ReadPlace(1<<30, logs))
}
