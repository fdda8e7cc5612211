module gpu.test/buf

go 1.26.0
