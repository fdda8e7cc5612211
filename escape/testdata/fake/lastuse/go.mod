module github.com/lastuse/lastuse

go 1.26.0
