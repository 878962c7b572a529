module tenon

go 1.19
