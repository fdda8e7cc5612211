module github.com/lastuse/lastuse/bench/peers/arrow

go 1.26.0

require github.com/apache/arrow-go/v18 v18.8.0

require golang.org/x/sys v0.47.0 // indirect
