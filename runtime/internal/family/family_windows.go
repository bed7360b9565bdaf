package family

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// system holds the job object: its last handle, so that the family ends with this process too.
type system struct {
	mu     sync.Mutex // guards what follows
	job    windows.Handle
	killed bool
}

var resume = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// start starts the program suspended, so that it is in the job before it can start another.
func (s *system) start(cmd *exec.Cmd) error {
	job, err := newJob()
	if err != nil {
		return err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_SUSPENDED
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return err
	}
	if err := admit(job, uint32(cmd.Process.Pid)); err != nil {
		windows.CloseHandle(job)
		cmd.Process.Kill()
		cmd.Wait()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job = job; s.killed {
		windows.TerminateJobObject(job, 1)
	}
	return nil
}

// newJob makes a job whose processes end when its last handle is closed.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("making a job object: %w", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		windows.CloseHandle(job)
		return 0, fmt.Errorf("making a job object: %w", err)
	}
	return job, nil
}

// admit puts the suspended process into the job, and lets it run.
func admit(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE|windows.PROCESS_SUSPEND_RESUME, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return fmt.Errorf("putting a process into a job object: %w", err)
	}
	if status, _, _ := resume.Call(uintptr(process)); status != 0 {
		return fmt.Errorf("resuming a process: %w", windows.NTStatus(status))
	}
	return nil
}

func (s *system) kill(*exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
	if s.job == 0 {
		return os.ErrProcessDone
	}
	return windows.TerminateJobObject(s.job, 1)
}

func (s *system) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job != 0 {
		windows.CloseHandle(s.job)
		s.job = 0
	}
}
