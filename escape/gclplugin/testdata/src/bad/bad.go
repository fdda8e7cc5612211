package bad // want package:"reach"

import "buf"

func never() { // want never:"borrows"
	b := buf.New(1) // want `b is never freed`
	b.Fill(1)
}

func path(n int) { // want path:"borrows"
	b := buf.New(n) // want `b .*freed`
	if n > 1 {
		return
	}
	b.Fill(1)
	b.Free()
}

func good() { // want good:"borrows"
	b := buf.New(1)
	b.Fill(1)
	b.Free()
}
