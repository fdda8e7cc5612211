package bad // want package:`package bad`

import "buf"

func never() { // want never:"proven"
	b := buf.New(1) // want `^unfreed: b is never freed \(.*\); bad.go:7: b.Free\(\) after its last use$`
	b.Fill(1)
}

func path(n int) { // want path:"proven"
	b := buf.New(n) // want `^leak: b is not freed on the path through bad.go:12 \(.*\); bad.go:12:`
	if n > 1 {
		return
	}
	b.Fill(1)
	b.Free()
}

func good() { // want good:"proven"
	b := buf.New(1)
	b.Fill(1)
	b.Free()
}
